// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// saToken is a token of a service account with all rights on the target.
type saToken struct {
	token, user string
	holder      *corev1.Secret
}

func account(t *testing.T) saToken {
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
	return saToken{request.Status.Token, "system:serviceaccount:" + ns + ":operator", holder}
}

// revoke returns when the API server, which keeps what it found of a token for a while, refuses it.
func (a saToken) revoke(t *testing.T) {
	t.Helper()
	if err := targetAdmin.Delete(t.Context(), a.holder); err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(targetConfig)
	cfg.CAData, cfg.BearerToken = targetConfig.CAData, a.token
	c, err := client.New(cfg, client.Options{Scheme: testScheme})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKey{Name: "default"}, &corev1.Namespace{}); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("the old token still serves: %w", errors.Join(errNotYet, err))
		}
		return nil
	})
}

func tokenOf(t *testing.T, sa *corev1.ServiceAccount) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := targetAdmin.SubResource("token").Create(t.Context(), sa, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// swapped waits until the connection speaks with the token.
func swapped(t *testing.T, target Target, token string) {
	t.Helper()
	conn, ok := target.(*connection)
	if !ok {
		t.Fatalf("a Target of type %T", target)
	}
	eventually(t, 10*time.Second, func(context.Context) error {
		if *conn.rt.token.Load() != token {
			return errNotYet
		}
		return nil
	})
}

func TestATokenIsSwappedUnderRunningWatches(t *testing.T) {
	f := newFleet(t)
	first, second := account(t), account(t)
	ns := newNamespace(t, targetAdmin)
	edited := child(t, ns, "edited")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "password"}, StringData: map[string]string{"v": "one"}}
	if err := targetAdmin.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(first.token)))
	target := f.connected("edge")
	f.reads(t, target, client.ObjectKeyFromObject(secret), "one")
	eventually(t, 10*time.Second, func(context.Context) error {
		if f.saw("edge", "password", true) == 0 {
			return errNotYet
		}
		return nil
	})
	f.settled(target)
	begun := len(watchesOf(t, first.user))
	if begun < 5 {
		t.Fatalf("%d watches begun, which are not all", begun)
	}

	f.register("edge", kubeconfig(t, targetConfig, "", withToken(second.token)))
	swapped(t, target, second.token)
	first.revoke(t)
	f.forget()
	edited.Data = map[string]string{"a": "b"}
	secret.StringData = map[string]string{"v": "two"}
	for _, obj := range []client.Object{edited, secret} {
		if err := targetAdmin.Update(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 10*time.Second, func(context.Context) error {
		if f.saw("edge", "edited", false) != 1 || f.saw("edge", "password", true) != 1 {
			return errNotYet
		}
		return nil
	})
	f.reads(t, target, client.ObjectKeyFromObject(secret), "two")
	f.settled(target)
	if f.connected("edge") != target {
		t.Error("a new token made a new connection")
	}
	if n, more := len(watchesOf(t, first.user)), watchesOf(t, second.user); n != begun || len(more) != 0 {
		t.Errorf("%d watches were begun anew by the old token, and by the new one %v", n-begun, more)
	}
}

func TestARevokedTokenIsToldApartAndANewOneServesAtOnce(t *testing.T) {
	// Whoever waited for the next attempt would wait for long.
	f := newFleet(t, func(o *Options) { o.RetryMin, o.RetryMax = time.Minute, time.Minute })
	first, second := account(t), account(t)
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(first.token)))
	f.connected("edge")
	first.revoke(t)
	message := f.unavailable("edge", CauseUnauthorized)
	if !strings.HasPrefix(message, `target cluster "edge" is unreachable since 2`) || !strings.Contains(message, "401") || !strings.Contains(message, "credential") {
		t.Errorf("message %q", message)
	}
	f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonUnauthorized)
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(second.token)))
	began := time.Now()
	f.connected("edge")
	took := time.Since(began)
	t.Logf("healed in %s", took.Round(time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("a new token served after %s", took)
	}
}

func TestAClusterThatRefusesTheCredentialIsAskedNoMoreOftenThanThePauseSays(t *testing.T) {
	const pause, count = 200 * time.Millisecond, 10
	f := newFleet(t, func(o *Options) { o.RetryMin, o.RetryMax = pause, pause })
	asked := make(chan time.Time, 1000)
	s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/readyz" {
			select {
			case asked <- time.Now():
			default:
			}
		}
		http.Error(w, "who are you", http.StatusUnauthorized)
		return true
	})
	f.register("edge", s.kubeconfig(t))
	f.unavailable("edge", CauseUnauthorized)
	first := <-asked
	var last time.Time
	for range count {
		select {
		case last = <-asked:
		case <-time.After(30 * time.Second):
			t.Fatal("it is not tried again")
		}
	}
	// A tenth may be taken off each pause.
	if took, least := last.Sub(first), count*pause*9/10; took < least {
		t.Errorf("%d attempts came within %s, want %s at least", count, took, least)
	}
}

func TestANamespaceListedAMomentAgoIsServedByAConnectionThatKnowsIt(t *testing.T) {
	f := newFleet(t)
	f.register("edge", kubeconfig(t, targetConfig, ""), map[string]string{v1alpha1.RegistrationKeyNamespaces: "default"})
	f.connected("edge")
	f.register("edge", kubeconfig(t, targetConfig, ""), map[string]string{v1alpha1.RegistrationKeyNamespaces: "default,kube-public"})
	var target Target
	seen := map[UnavailableCause]string{}
	for began := time.Now(); target == nil; {
		var err error
		target, err = f.resolve("edge", "kube-public")
		if u, ok := AsUnavailable(err); ok {
			seen[u.Cause] = u.Message
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("not served: %v", err)
		}
	}
	err := target.Client().Get(t.Context(), client.ObjectKey{Namespace: "kube-public", Name: "none"}, &appsv1.Deployment{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a read in the new namespace fails: %v", err)
	}
	if seen[CauseConnecting] == "" {
		t.Errorf("before it was served it was %q", seen)
	}
}

func TestWhatIsNotATokenIsConnectedBeforeTheOldConnectionEnds(t *testing.T) {
	other, err := targetEnvironment.AddUser(envtest.User{Name: "rotated", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, elsewhere := newRelay(t, targetConfig), newRelay(t, targetConfig)
	for name, change := range map[string]struct {
		kubeconfig []byte
		more       map[string]string
	}{
		"server": {kubeconfig: kubeconfig(t, targetConfig, elsewhere.url())},
		"CA": {kubeconfig: kubeconfig(t, targetConfig, old.url(), func(c, _ fields) {
			c["certificate-authority-data"] = encode(slices.Concat(bytes.TrimSpace(targetConfig.CAData), []byte("\n"), testCA(t).certPEM))
		})},
		"client certificate": {kubeconfig: kubeconfig(t, targetConfig, old.url(), func(_, u fields) {
			u["client-certificate-data"], u["client-key-data"] = encode(other.Config().CertData), encode(other.Config().KeyData)
		})},
		"namespaces": {kubeconfig: kubeconfig(t, targetConfig, old.url()), more: map[string]string{v1alpha1.RegistrationKeyNamespaces: "default,kube-system"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, func(o *Options) { o.CallTimeout = 20 * time.Second })
			f.register("edge", kubeconfig(t, targetConfig, old.url()))
			before, _ := f.connected("edge").(*connection)
			running, returned, err := before.enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f.register("edge", change.kubeconfig, change.more)
			eventually(t, 20*time.Second, func(context.Context) error {
				now, err := f.resolve("edge", "default")
				if err != nil {
					t.Fatalf("between the two connections: %v", err)
				}
				if now == Target(before) {
					return errNotYet
				}
				return nil
			})
			if running.Err() != nil || before.life.Err() != nil {
				t.Errorf("a call of the old connection was cut: %v", context.Cause(running))
			}
			returned()
			eventually(t, 5*time.Second, func(context.Context) error {
				if before.life.Err() == nil {
					return fmt.Errorf("the old connection outlives its calls: %w", errNotYet)
				}
				return nil
			})
			if got := f.recorded("ClusterConnected"); len(got) != 1 || len(f.recorded("ClusterUnreachable")) != 0 {
				t.Errorf("events: %v", f.events)
			}
			if name == "server" {
				if conns, _ := elsewhere.open(); conns == 0 {
					t.Error("no connection to the new server")
				}
			}
			f.stop()
			eventually(t, 5*time.Second, func(context.Context) error {
				if conns, _ := old.open(); conns != 0 {
					return fmt.Errorf("%d sockets to the old server: %w", conns, errNotYet)
				}
				return nil
			})
		})
	}

	t.Run("and one that does not answer takes the cluster out of service", func(t *testing.T) {
		f := newFleet(t)
		f.register("edge", kubeconfig(t, targetConfig, old.url()))
		f.connected("edge")
		f.register("edge", kubeconfig(t, targetConfig, blackHole(t, false)))
		f.unavailable("edge", CauseUnreachable)
		f.register("edge", kubeconfig(t, targetConfig, old.url()))
		f.connected("edge")
	})
}

func TestTwoHundredRotationsLeaveNothingBehind(t *testing.T) {
	f := newFleet(t)
	relays := []*relay{newRelay(t, targetConfig), newRelay(t, targetConfig)}
	tokens := []saToken{account(t), account(t)}
	ns := newNamespace(t, targetAdmin)
	rotation := func(i int) []byte {
		return kubeconfig(t, targetConfig, relays[i/2%2].url(), withToken(tokens[i%2].token))
	}
	f.register("edge", rotation(0))
	last := f.connected("edge")
	use := func() {
		if _, err := last.Inputs().Secret(t.Context(), client.ObjectKey{Namespace: ns, Name: "absent"}); !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	use()
	f.settled(last)
	before := footprint(t, f)
	for i := 1; i <= 200; i++ {
		f.register("edge", rotation(i))
		eventually(t, 20*time.Second, func(context.Context) error {
			now, err := f.resolve("edge", "default")
			if err != nil {
				return err
			}
			if i%2 == 0 && now == last {
				return errNotYet // the server changed as well
			}
			last = now
			return nil
		})
		swapped(t, last, tokens[i%2].token)
		use()
	}
	f.settled(last)
	var after resources
	// The HTTP/2 client holds a closed socket's buffers until its next ping would have been due and missed: 45 s.
	eventually(t, 90*time.Second, func(context.Context) error {
		after = footprint(t, f)
		if after.goroutines > before.goroutines+5 || after.sockets > before.sockets || after.heap > before.heap+1<<20 {
			return fmt.Errorf("%+v, before %+v", after, before)
		}
		return nil
	})
	t.Logf("before %+v, after 200 rotations %+v", before, after)
}

type resources struct {
	goroutines, sockets int
	heap                uint64
}

// footprint is what the process holds, apart from what the test remembers.
func footprint(t *testing.T, f *fleet) resources {
	t.Helper()
	f.forget()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return resources{runtime.NumGoroutine(), openSockets(t), m.HeapAlloc}
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
