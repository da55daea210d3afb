// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func TestAChangedServerIsConnectedBeforeTheOldConnectionEnds(t *testing.T) {
	f := newFleet(t)
	one, two := newRelay(t, targetConfig), newRelay(t, targetConfig)
	f.register("edge", kubeconfig(t, targetConfig, one.url()))
	old := f.connected("edge")
	f.register("edge", kubeconfig(t, targetConfig, two.url()))
	eventually(t, 10*time.Second, func(context.Context) error {
		now, err := f.resolve("edge", "default")
		if err != nil {
			t.Fatalf("between the two connections: %v", err)
		}
		if now == old {
			return errNotYet
		}
		return nil
	})
	eventually(t, 10*time.Second, func(context.Context) error {
		if conns, _ := one.open(); conns != 0 {
			return fmt.Errorf("%d connections to the old server", conns)
		}
		return nil
	})
	if conns, _ := two.open(); conns == 0 {
		t.Error("no connection to the new server")
	}
	if got := f.recorded("ClusterConnected"); len(got) != 1 {
		t.Errorf("events: %v", got)
	}

	t.Run("and one that does not answer takes the cluster out of service", func(t *testing.T) {
		f.register("edge", kubeconfig(t, targetConfig, blackHole(t, false)))
		f.unavailable("edge", CauseUnreachable)
		f.register("edge", kubeconfig(t, targetConfig, two.url()))
		f.connected("edge")
	})
}

// account makes a service account with all rights on the target and a token for it, with what revokes the token.
func account(t *testing.T) (token string, revoke func()) {
	t.Helper()
	ns := newNamespace(t, targetAdmin)
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "operator"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: sa.Name}},
	}
	holder := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "token"}}
	for _, obj := range []client.Object{sa, binding, holder} {
		if err := targetAdmin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: holder.Name, UID: holder.UID},
	}}
	if err := targetAdmin.SubResource("token").Create(t.Context(), sa, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token, func() {
		if err := targetAdmin.Delete(t.Context(), holder); err != nil {
			t.Fatal(err)
		}
	}
}

func tokenOf(t *testing.T, sa *corev1.ServiceAccount) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := targetAdmin.SubResource("token").Create(t.Context(), sa, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func TestATokenIsSwappedUnderRunningWatchesAndARevokedOneNoticed(t *testing.T) {
	f := newFleet(t)
	first, revokeFirst := account(t)
	second, revokeSecond := account(t)
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(first)))
	target := f.connected("edge")
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(second)))
	conn, ok := target.(*connection)
	if !ok {
		t.Fatalf("a Target of type %T", target)
	}
	eventually(t, 10*time.Second, func(context.Context) error {
		if *conn.rt.token.Load() != second {
			return errNotYet
		}
		return nil
	})
	revokeFirst()
	ns := newNamespace(t, targetAdmin)
	child(t, ns, "afterwards")
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		return target.Client().Get(ctx, client.ObjectKey{Namespace: ns, Name: "afterwards"}, &corev1.ConfigMap{})
	})
	if f.connected("edge") != target {
		t.Error("a new token made a new connection")
	}

	revokeSecond()
	message := f.unavailable("edge", CauseUnauthorized)
	if !strings.HasPrefix(message, `target cluster "edge" is unreachable since 2`) || !strings.Contains(message, "401") {
		t.Errorf("message %q", message)
	}
	f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonUnauthorized)
	third, _ := account(t)
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(third)))
	f.connected("edge")
}

func TestThirtyReconnectionsLeaveNothingBehind(t *testing.T) {
	f := newFleet(t)
	relays := []*relay{newRelay(t, targetConfig), newRelay(t, targetConfig)}
	f.register("edge", kubeconfig(t, targetConfig, relays[0].url()))
	last := f.connected("edge")
	f.settled(last)
	goroutines, sockets := runtime.NumGoroutine(), openSockets(t)
	for i := range 30 {
		f.register("edge", kubeconfig(t, targetConfig, relays[(i+1)%2].url()))
		eventually(t, 10*time.Second, func(context.Context) error {
			now, err := f.resolve("edge", "default")
			if err != nil {
				return err
			}
			if now == last {
				return errNotYet
			}
			last = now
			return nil
		})
	}
	f.settled(last)
	var g, s int
	err := errors.New("never looked")
	deadline := time.Now().Add(15 * time.Second)
	for err != nil && time.Now().Before(deadline) {
		runtime.Gosched()
		g, s = runtime.NumGoroutine(), openSockets(t)
		err = nil
		if g > goroutines+5 || s > sockets+2 {
			err = fmt.Errorf("%d goroutines and %d sockets, before %d and %d", g, s, goroutines, sockets)
		}
	}
	if err != nil {
		t.Error(err)
	}
	t.Logf("goroutines %d -> %d, sockets %d -> %d", goroutines, g, sockets, s)
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

func openSockets(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
