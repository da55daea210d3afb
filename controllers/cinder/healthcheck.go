// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/internal/render"
)

const (
	healthPath = "/healthcheck"
	// probeTimeout is shorter than what bounds a call to a cluster: a silent API
	// must not be taken for a lost cluster.
	probeTimeout = 5 * time.Second
)

// probe is what a health probe found. An empty reason is health.
type probe struct {
	reason, message string
}

// reconcileHealthCheck asks the API's /healthcheck and reuses a passing answer
// within its time to live.
func (r *Reconciler) reconcileHealthCheck(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionCinderAPIReady
	if p.Cinder.Status.Endpoint == "" {
		p.setFalse(typ, v1alpha1.ReasonEndpointNotReady, "the API has no endpoint yet")
		return ctrl.Result{RequeueAfter: r.Intervals.HealthCheck}, nil
	}
	name := client.ObjectKeyFromObject(p.Cinder)
	key := probeKey{cinder: p.Cinder.UID, cluster: p.Target.UID(), endpoint: p.Cinder.Status.Endpoint}
	left := r.probes.fresh(name, key, r.Intervals.HealthCheckTTL, r.now())
	if left == 0 {
		found, err := r.probe(ctx, p)
		if err != nil {
			return ctrl.Result{}, err
		}
		if found.reason != "" {
			r.probes.evict(name)
			p.setFalse(typ, found.reason, "%s", found.message)
			return ctrl.Result{RequeueAfter: r.Intervals.HealthCheck}, nil
		}
		left = r.Intervals.HealthCheckTTL
		r.probes.passed(name, key, r.now())
	}
	p.setTrue(typ, v1alpha1.ReasonAPIHealthy, "the API answers on "+healthPath)
	return ctrl.Result{RequeueAfter: left}, nil
}

// probesDirectly tells whether Service names of the children's cluster resolve
// for this process.
func (r *Reconciler) probesDirectly(p *Pass) bool { return p.Target.IsHub() && r.InCluster }

// probe asks once: directly where Service names resolve, else through the API
// server of the children's cluster.
func (r *Reconciler) probe(ctx context.Context, p *Pass) (probe, error) {
	probing, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if r.probesDirectly(p) {
		url := fmt.Sprintf("http://%s.%s.svc:%d%s", p.Cinder.Name, p.Cinder.Namespace, render.APIPort, healthPath)
		return directProbe(probing, r.http, url), nil
	}
	resp, err := p.Target.ServiceProxy(probing, clusters.ServiceRequest{
		Namespace: p.Cinder.Namespace, Name: p.Cinder.Name, Port: strconv.Itoa(int(render.APIPort)), Path: healthPath,
	})
	switch _, unavailable := clusters.AsUnavailable(err); {
	case err == nil && resp.FromProxy:
		return fromProxy(resp), nil
	case err == nil:
		return fromStatus(resp.StatusCode), nil
	case probing.Err() == nil && unavailable:
		return probe{}, err
	case probing.Err() == nil:
		return fromError(err), nil
	}
	// Silence is either the API's or the whole cluster's, and only the former is
	// news about the API.
	if err := r.answers(ctx, p); err != nil {
		return probe{}, err
	}
	return probe{v1alpha1.ReasonHealthCheckTimeout, noAnswer}, nil
}

// answers asks the cluster itself something small.
func (r *Reconciler) answers(ctx context.Context, p *Pass) error {
	var svc corev1.Service
	err := p.Target.APIReader().Get(ctx, client.ObjectKeyFromObject(p.Cinder), &svc)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get Service %s/%s on %s: %w", p.Cinder.Namespace, p.Cinder.Name, p.Target, err)
	}
	return nil
}

const noAnswer = "the API did not answer on " + healthPath + " in time"

func directProbe(ctx context.Context, c *http.Client, url string) probe {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fromError(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return fromError(err)
	}
	defer resp.Body.Close()
	// Read to the end, so that the connection can be used again.
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 4096)); err != nil {
		return fromError(err)
	}
	return fromStatus(resp.StatusCode)
}

func fromStatus(code int) probe {
	if code >= 200 && code < 300 {
		return probe{}
	}
	return probe{v1alpha1.ReasonAPIUnhealthy, fmt.Sprintf("the API answers %d on %s", code, healthPath)}
}

func fromError(err error) probe {
	var timeout net.Error
	var dial *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return probe{v1alpha1.ReasonHealthCheckTimeout, noAnswer}
	case errors.As(err, &dns), errors.As(err, &dial) && dial.Op == "dial":
		return probe{v1alpha1.ReasonConnectionFailed, "the API cannot be reached: " + withoutPorts(err)}
	}
	return probe{v1alpha1.ReasonHealthCheckFailed, "the health probe failed: " + withoutPorts(err)}
}

// withoutPorts gives the innermost text of a network error: the outer ones name
// the local port, which is another one in every pass.
func withoutPorts(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// fromProxy reads why an API server answered in place of the Service.
func fromProxy(resp clusters.ServiceResponse) probe {
	text := strings.ToLower(string(resp.Body))
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	switch {
	case has("no endpoints available"), resp.StatusCode == http.StatusNotFound && has(`endpoints \"`):
		// A Service that was made a moment ago has no Endpoints at all.
		return probe{v1alpha1.ReasonEndpointNotReady, "the API Service has no endpoints"}
	case has("dial", "connection refused", "no route to host"):
		return probe{v1alpha1.ReasonConnectionFailed, "the cluster's API server cannot connect to the API"}
	case has("timeout", "deadline exceeded", "timed out"), resp.StatusCode == http.StatusGatewayTimeout:
		return probe{v1alpha1.ReasonHealthCheckTimeout, noAnswer}
	}
	return probe{v1alpha1.ReasonHealthCheckFailed, fmt.Sprintf("the cluster's API server answers %d to the health probe", resp.StatusCode)}
}

// newProbeClient makes the client of direct probes. Connections are not kept:
// each would pin one API pod, and a probe is to meet whichever serves.
func newProbeClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: probeTimeout}).DialContext},
		// A redirect is not health.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
