// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestAnAPIServerThatGoesIsNoticedAndServedAgainWhenItReturns(t *testing.T) {
	f := newFleet(t)
	r := newRelay(t, targetConfig)
	ns := newNamespace(t, targetAdmin)
	child(t, ns, "there")
	f.register("edge", kubeconfig(t, targetConfig, r.url()))
	old := f.connected("edge")
	f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	key := client.ObjectKey{Namespace: ns, Name: "there"}
	if err := old.Client().Get(t.Context(), key, &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}

	r.stop()
	// Before it is given up the cached state is still there, and a live call says what is wrong.
	if err := old.Client().Get(t.Context(), key, &corev1.ConfigMap{}); err != nil {
		if _, ok := AsUnavailable(err); !ok {
			t.Errorf("a cached read: %v", err)
		}
	}
	err := old.APIReader().Get(t.Context(), key, &corev1.ConfigMap{})
	if u, ok := AsUnavailable(err); !ok || !strings.HasPrefix(u.Message, `target cluster "edge" is unreachable since 2`) {
		t.Errorf("a live read: %v", err)
	}
	message := f.unavailable("edge", CauseUnreachable)
	tc := f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonUnreachable)
	if tc.Status.KubernetesVersion == "" || tc.Status.Capabilities == nil {
		t.Errorf("what was known is gone: %+v", tc.Status)
	}
	if got := f.recorded("ClusterUnreachable"); len(got) != 1 {
		t.Errorf("events: %v", got)
	}
	attempts := f.requests("edge", "error")
	eventually(t, 10*time.Second, func(context.Context) error {
		if f.requests("edge", "error") < attempts+3 {
			return errNotYet
		}
		return nil
	})
	if again := f.unavailable("edge", CauseUnreachable); again != message {
		t.Errorf("the message moves while nothing does: %q, then %q", message, again)
	}
	if again, err := f.targetCluster(t.Context(), "edge"); err != nil || again.ResourceVersion != tc.ResourceVersion {
		t.Errorf("the TargetCluster was written again while nothing changed (%v)", err)
	}

	child(t, ns, "made-meanwhile")
	f.forget()
	r.start()
	again := f.connected("edge")
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		return again.Client().Get(ctx, client.ObjectKey{Namespace: ns, Name: "made-meanwhile"}, &corev1.ConfigMap{})
	})
	child(t, ns, "made-afterwards")
	eventually(t, 10*time.Second, func(context.Context) error {
		for _, name := range []string{"there", "made-meanwhile", "made-afterwards"} {
			if f.saw("edge", name, false) == 0 {
				return fmt.Errorf("no event of %s", name)
			}
		}
		return nil
	})
}

func (f *fleet) requests(cluster, code string) float64 {
	f.t.Helper()
	families, err := f.metrics.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "cinder_operator_target_cluster_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["cluster"] == cluster && (code == "" || labels["code"] == code) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func TestAConnectionThatIsCutWithoutBeingGivenUpIsServedByFreshCaches(t *testing.T) {
	f := newFleet(t, func(o *Options) { o.ProbeFailures = 1000 })
	r := newRelay(t, targetConfig)
	ns := newNamespace(t, targetAdmin)
	f.register("edge", kubeconfig(t, targetConfig, r.url()))
	f.connected("edge")
	r.stop()
	// Long enough for reflectors to be in a pause of seconds.
	eventually(t, 20*time.Second, func(context.Context) error {
		if f.requests("edge", "error") < 40 {
			return errNotYet
		}
		return nil
	})
	child(t, ns, "made-meanwhile")
	r.start()
	returned := time.Now()
	eventually(t, 5*time.Second, func(ctx context.Context) error {
		target, err := f.resolve("edge", "default")
		if err != nil {
			return err
		}
		return target.Client().Get(ctx, client.ObjectKey{Namespace: ns, Name: "made-meanwhile"}, &corev1.ConfigMap{})
	})
	t.Logf("served %s after its return", time.Since(returned).Round(time.Millisecond))
}

func TestASilentClusterOccupiesNobodyAfterTheFirstCall(t *testing.T) {
	f := newFleet(t, func(o *Options) {
		o.ProbeInterval, o.ProbeTimeout, o.ProbeFailures = 2*time.Second, time.Second, 1000
	})
	r := newRelay(t, targetConfig)
	f.register("edge", kubeconfig(t, targetConfig, r.url()))
	target := f.connected("edge")
	told := f.changed("edge")
	r.silence(true)

	began := time.Now()
	err := target.APIReader().Get(t.Context(), client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{})
	if u, ok := AsUnavailable(err); !ok || u.Cause != CauseUnreachable || !strings.Contains(u.Message, errDeadline.Error()) {
		t.Fatalf("the first call: %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the first call took %s, with a limit of %s", took, quick().CallTimeout)
	}
	began = time.Now()
	for range 20 {
		if _, err := f.resolve("edge", "default"); err == nil {
			t.Fatal("it resolves although a call has just run into its deadline")
		}
		if err := target.Client().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "x"}, &corev1.ConfigMap{}); err == nil {
			t.Fatal("a call went through")
		}
	}
	if took := time.Since(began); took > 200*time.Millisecond {
		t.Errorf("20 further passes took %s", took)
	}
	r.silence(false)
	r.cut()
	f.connected("edge")
	eventually(t, 10*time.Second, func(context.Context) error {
		if f.changed("edge") == told {
			return fmt.Errorf("nobody was told that it answers again: %w", errNotYet)
		}
		return nil
	})
}

func TestABlackHoleDelaysNoOtherCluster(t *testing.T) {
	for _, afterTLS := range []bool{false, true} {
		t.Run(fmt.Sprintf("after TLS %t", afterTLS), func(t *testing.T) {
			f := newFleet(t)
			hole := blackHole(t, afterTLS)
			for i := range 10 {
				f.register(fmt.Sprintf("hole-%d", i), kubeconfig(t, targetConfig, hole, func(c, _ fields) {
					c["certificate-authority-data"] = encode(testCA(t).certPEM)
				}))
			}
			eventually(t, 10*time.Second, func(context.Context) error {
				_, err := f.resolve("hole-9", "default")
				if u, ok := AsUnavailable(err); !ok || u.Cause == CauseNotRegistered {
					return fmt.Errorf("got %w", err)
				}
				return nil
			})
			f.register("edge", kubeconfig(t, targetConfig, ""))
			began := time.Now()
			target := f.connected("edge")
			took := time.Since(began)
			t.Logf("connected beside 10 black holes in %s", took.Round(time.Millisecond))
			if took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
			f.unavailable("hole-9", CauseUnreachable)
			ns := newNamespace(t, targetAdmin)
			child(t, ns, "quick")
			eventually(t, 3*time.Second, func(ctx context.Context) error {
				return target.Client().Get(ctx, client.ObjectKey{Namespace: ns, Name: "quick"}, &corev1.ConfigMap{})
			})
			began = time.Now()
			f.stop()
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("stopping took %s", took)
			}
		})
	}
}

func TestStartUpGraceHoldsTheAnswerBackUntilTheFirstAttemptHasEnded(t *testing.T) {
	f := newFleet(t, func(o *Options) {
		o.ConnectGrace, o.ProbeTimeout, o.CallTimeout = 2*time.Second, 5*time.Second, 5*time.Second
	})
	f.register("edge", kubeconfig(t, targetConfig, blackHole(t, false)))
	f.unavailable("edge", CauseStarting)
	if message := f.unavailable("edge", CauseConnecting); !strings.HasPrefix(message, `target cluster "edge" is connecting`) {
		t.Errorf("message %q", message)
	}
	f.shows("edge", v1alpha1.ConditionConnected, v1alpha1.ReasonConnecting)
	f.unavailable("edge", CauseUnreachable)
}

// settled waits until the connection has served for a few probes.
func (f *fleet) settled(target Target) {
	f.t.Helper()
	n := f.probes(target.Name())
	eventually(f.t, 10*time.Second, func(context.Context) error {
		if f.probes(target.Name()) < n+3 {
			return errNotYet
		}
		return nil
	})
}
