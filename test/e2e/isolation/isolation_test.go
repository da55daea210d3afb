// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

func TestHealthyClustersAreServedBesideBlackHoles(t *testing.T) {
	edge := lab.Targets["edge-1"]
	for _, workers := range workers() {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			took := map[bool]time.Duration{}
			for _, holes := range []bool{false, true} {
				name := map[bool]string{false: "all healthy", true: "half of them black holes"}[holes]
				t.Run(name, func(t *testing.T) {
					ns := lab.Namespace(t, fmt.Sprintf("isolation-%d-%t", workers, holes), edge)
					lab.StartOperator(t, append(quick, fmt.Sprintf("--max-concurrent-reconciles=%d", workers))...)
					var healthy, stuck []*v1alpha1.Cinder
					for i := range fleet() {
						if holes {
							name := fmt.Sprintf("hole-%d", i)
							lab.Register(t, name, edge, harness.With(harness.Hole(t, []string{"tcp", "tls"}[i%2])))
							c := harness.Cinder(ns, name, name)
							stuck = append(stuck, c)
							lab.Deploy(t, c)
						}
						name := fmt.Sprintf("fine-%d", i)
						lab.Register(t, name, edge)
						healthy = append(healthy, harness.Cinder(ns, name, name))
					}
					began := time.Now()
					for _, c := range healthy {
						lab.Deploy(t, c)
					}
					for _, c := range healthy {
						lab.WaitReady(t, harness.ReadyTimeout, c)
					}
					took[holes] = time.Since(began)
					for _, c := range stuck {
						lab.WaitFor(t, 30*time.Second, c, harness.Want{
							Type: v1alpha1.ConditionSecretsReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTargetClusterUnavailable,
							Message: fmt.Sprintf("target cluster %q is unreachable since ", c.Name),
						})
					}
				})
			}
			if t.Failed() {
				return
			}
			t.Logf("%d workers, %d healthy clusters: all Ready after %s, beside as many holes after %s: ratio %.2f", workers, fleet(),
				took[false].Round(time.Millisecond), took[true].Round(time.Millisecond), took[true].Seconds()/took[false].Seconds())
		})
	}
}

// The harder case: the cluster was connected, its Cinders are being worked on,
// and it falls silent with calls under way.
func TestAClusterThatFallsSilentHoldsAtMostOneWorker(t *testing.T) {
	workers, cinders := crowd()
	edge := lab.Targets["edge-1"]
	ns := lab.Namespace(t, "silent", edge)
	op := lab.StartOperator(t, fmt.Sprintf("--max-concurrent-reconciles=%d", workers)) // the default probes
	proxy := edge.Proxy(t)
	lab.Register(t, "silent", edge, harness.With(proxy.Kubeconfig(t)))
	lab.Register(t, "fine", edge)
	var silent []*v1alpha1.Cinder
	for i := range cinders {
		c := harness.Cinder(ns, fmt.Sprintf("silent-%d", i), "silent")
		lab.Deploy(t, c)
		silent = append(silent, c)
	}
	for _, c := range silent {
		lab.WaitReady(t, harness.ReadyTimeout, c)
	}

	// waiting counts the calls of workers that hang: informers and probes have
	// goroutines of their own.
	var hanging atomic.Bool
	var waiting atomic.Int32
	hanging.Store(true)
	proxy.Override(func(_ http.ResponseWriter, r *http.Request) bool {
		if !hanging.Load() {
			return false
		}
		if strings.Contains(r.URL.Path, "/namespaces/") && r.URL.Query().Get("watch") == "" {
			waiting.Add(1)
			defer waiting.Add(-1)
		}
		<-r.Context().Done()
		return true
	})
	for _, c := range silent {
		harness.Change(t, lab.Hub, c, func(c *v1alpha1.Cinder) { c.Spec.Image.Tag = "2026.1-fixed" })
	}
	fine := harness.Cinder(ns, "fine", "fine")
	lab.Deploy(t, fine)

	// Several calls may be under way before anything tells that they hang: then
	// all but one are given up.
	began, served := time.Now(), time.Duration(0)
	most, held, last := int32(0), time.Duration(0), began
	for time.Since(began) < 15*time.Second {
		n, now := waiting.Load(), time.Now()
		if most = max(most, n); n > 1 {
			held += now.Sub(last)
		}
		last = now
		if served == 0 && isReady(t, fine) {
			served = time.Since(began)
		}
		<-time.After(50 * time.Millisecond)
	}
	lab.WaitReady(t, harness.ReadyTimeout, fine)
	t.Logf("of %d workers at most %d waited for the silent cluster, more than one for %s; the other cluster's Cinder was Ready after %s",
		workers, most, held.Round(100*time.Millisecond), served.Round(100*time.Millisecond))
	if most == 0 {
		t.Error("no worker met the silence: nothing was tested")
	}
	if held > 4*time.Second {
		t.Errorf("a silent cluster held more than one worker for %s", held)
	}

	hanging.Store(false)
	proxy.Override(nil)
	for _, c := range silent {
		lab.WaitReady(t, harness.ReadyTimeout, c)
	}
	harness.Eventually(t, 30*time.Second, "the silent cluster is connected again", func(ctx context.Context) error {
		if op.Scrape(t).Sum("cinder_operator_target_cluster_up", "cluster", "silent") != 1 {
			return fmt.Errorf("it is down")
		}
		return nil
	})
}

func isReady(t *testing.T, c *v1alpha1.Cinder) bool {
	t.Helper()
	now := c.DeepCopy()
	lab.Hub.Get(t, client.ObjectKeyFromObject(c), now)
	return meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionReady)
}
