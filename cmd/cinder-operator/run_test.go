// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/test/e2e/goroutines"
)

// stopLimit is what the operator may take to end after a SIGTERM.
const stopLimit = 10 * time.Second

func isOK(status int, _ string) bool { return status == http.StatusOK }

func TestTheOperatorServesWithItsOwnAccountAndEndsOnSIGTERM(t *testing.T) {
	namespace := newNamespace(t)
	p := start(t, "--kubeconfig="+account, "--leader-elect", "--leader-election-namespace=c5c3-system")
	p.eventually("http://"+p.health+"/healthz", isOK)
	p.eventually("http://"+p.health+"/readyz", isOK)

	cinder := &v1alpha1.Cinder{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cinder"},
		Spec: v1alpha1.CinderSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.org/cinder", Tag: "2026.1"},
			Database:         v1alpha1.DatabaseSpec{Host: "db", Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: "db"}},
			Cache:            v1alpha1.CacheSpec{Servers: []string{"cache:11211"}},
			Messaging:        v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "bus"}},
		},
	}
	if err := admin.Create(t.Context(), cinder); err != nil {
		t.Fatal(err)
	}
	p.eventually("http://"+p.metrics+"/metrics", func(_ int, body string) bool {
		for _, series := range []string{
			`cinder_operator_reconcile_duration_seconds_count{sub_reconciler="Secrets"}`,
			`cinder_operator_cinder_condition{cinder="cinder",namespace="` + namespace + `",target_cluster="",type="SecretsReady"} 0`,
			`controller_runtime_reconcile_total{controller="cinderbackupbackend"`,
		} {
			if !strings.Contains(body, series) {
				return false
			}
		}
		return true
	})

	before := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(stopLimit); code != exitOK {
		t.Errorf("exit code %d after SIGTERM, want %d", code, exitOK)
	}
	t.Logf("stopped after %s", time.Since(before))

	lease := &coordinationv1.Lease{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "c5c3-system", Name: leaseName}, lease); err != nil {
		t.Fatal(err)
	}
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("the Lease is still held by %q: the next replica would wait for it to run out", holder)
	}
	for line := range strings.Lines(p.out.String()) {
		// controller-runtime's way of saying that the Lease was given back.
		if strings.Contains(line, "leader election lost") {
			continue
		}
		if strings.Contains(line, "forbidden") || strings.Contains(line, `"level":"error"`) {
			t.Errorf("the log says: %s", line)
		}
	}
}

func TestAHubThatCannotServeIsSaid(t *testing.T) {
	closed := freeAddress(t)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no connection is configured": {
			nil, "find the hub (set --kubeconfig outside a cluster)",
		},
		"the kubeconfig does not exist": {
			[]string{"--kubeconfig=/nonexistent/hub"}, "/nonexistent/hub",
		},
		"the hub does not answer": {
			[]string{"--kubeconfig=" + kubeconfigFor(t, "https://"+closed)}, "identify the hub at https://" + closed,
		},
		"the hub has no identity for this account": {
			[]string{"--kubeconfig=" + nobody}, "--hub-id is not set",
		},
		"an election without a namespace": {
			[]string{"--kubeconfig=" + account, "--leader-elect"}, "--leader-elect outside a cluster needs --leader-election-namespace",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, tc.args...)
			if code := p.wait(2 * hubTimeout); code != exitFailed {
				t.Errorf("exit code %d, want %d", code, exitFailed)
			}
			if !strings.Contains(p.out.String(), tc.want) {
				t.Errorf("the operator does not say %q", tc.want)
			}
		})
	}
}

// register makes a registration and waits until the operator has judged it.
func register(t *testing.T, name string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: clusters.DefaultClustersNamespace, Name: name,
		Labels: map[string]string{v1alpha1.LabelKubeconfig: "true"},
	}}
	if err := admin.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	mirror := &v1alpha1.TargetCluster{}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(secret), mirror); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		c := meta.FindStatusCondition(mirror.Status.Conditions, v1alpha1.ConditionAccepted)
		return c != nil && c.Reason == v1alpha1.ReasonKubeconfigMissing, nil
	})
	if err != nil {
		t.Fatalf("TargetCluster %s: %v; conditions %+v", name, err, mirror.Status.Conditions)
	}
}

// controllers are those whose workers the operator starts.
var controllers = []string{"cinder", "cinderbackend", "cinderbackupbackend", "orphans"}

// The operator inside this process: what it started has to have ended with it.
func TestNothingOutlivesTheOperator(t *testing.T) {
	// The test's own client keeps its connection: it is opened first.
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{}); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	health := freeAddress(t)
	var stdout bytes.Buffer
	stderr := &output{}
	ended := make(chan int, 1)
	go func() {
		ended <- command(ctx, []string{"--kubeconfig=" + account, "--metrics-bind-address=0", "--health-probe-bind-address=" + health}, &stdout, stderr)
	}()
	p := &process{t: t, exited: make(chan struct{})}
	p.eventually("http://"+health+"/readyz", isOK)
	// Once a registration is judged everything has started: a cache that is
	// stopped while it fills leaves a goroutine of controller-runtime behind.
	register(t, "no-kubeconfig")
	// A controller that is stopped while its sources start formats them into an
	// error while they are still written: a race of controller-runtime's own.
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return strings.Count(stderr.String(), "Starting workers") == len(controllers), nil
	})
	if err != nil {
		t.Fatalf("the controllers do not start: %v; the operator wrote:\n%s", err, stderr)
	}
	stop()
	select {
	case code := <-ended:
		if code != exitOK {
			t.Errorf("exit code %d, want %d; the operator wrote:\n%s", code, exitOK, stderr)
		}
	case <-time.After(stopLimit):
		t.Fatalf("the operator does not end; it wrote:\n%s", stderr)
	}
	http.DefaultClient.CloseIdleConnections()
	hub, err := findHub(account)
	if err != nil {
		t.Fatal(err)
	}
	// A connection whose last watch was given up a moment ago is not idle yet when the operator closes those that are.
	var left error
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		hub.disconnect()
		left = goroutines.Find(before)
		return left == nil, nil
	})
	if err != nil {
		t.Error(left)
	}
}
