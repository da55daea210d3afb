// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// tenants are the namespaces in use on the cluster "edge".
type tenants struct {
	mu    sync.Mutex
	names []string
}

func (u *tenants) set(names ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.names = slices.Clone(names)
}

func (u *tenants) option(o *Options) {
	o.NamespacesInUse = func(_ context.Context, cluster string) ([]string, error) {
		u.mu.Lock()
		defer u.mu.Unlock()
		if cluster != "edge" {
			return nil, nil
		}
		return slices.Clone(u.names), nil
	}
}

func secretIn(t *testing.T, namespace, name, value string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"v": value}}
	if err := targetAdmin.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func spacesOf(t *testing.T, target Target) *spaces {
	t.Helper()
	conn, ok := target.(*connection)
	if !ok {
		t.Fatalf("a Target of type %T", target)
	}
	return conn.inputs.spaces
}

// watches waits until exactly these namespaces are watched and synchronised.
func watches(t *testing.T, s *spaces, want ...string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	eventually(t, 10*time.Second, func(context.Context) error {
		if got := s.namespaces(); !slices.Equal(got, want) {
			return fmt.Errorf("watched are %v, want %v", got, want)
		}
		for _, namespace := range want {
			for _, key := range s.wanted() {
				if _, ok := s.get(key, types.NamespacedName{Namespace: namespace, Name: "any"}); !ok {
					return fmt.Errorf("%s in %s is not synchronised", key.gvk.Kind, namespace)
				}
			}
		}
		return nil
	})
}

func TestWhatUsersOwnIsWatchedInNamespacesInUseAlone(t *testing.T) {
	use := &tenants{}
	f := newFleet(t, use.option)
	inUse, elsewhere := newNamespace(t, targetAdmin), newNamespace(t, targetAdmin)
	password := secretIn(t, inUse, "password", "one")
	for i := range 100 {
		secretIn(t, elsewhere, fmt.Sprintf("foreign-%d", i), "x")
	}
	f.register("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	s := spacesOf(t, target)
	watches(t, s)
	if held := s.health.held(); held["SecretMetadata"] != 0 {
		t.Errorf("nothing is in use, and held are %v", held)
	}

	use.set(inUse)
	f.Recount("edge")
	watches(t, s, inUse)
	if held := s.health.held(); held["SecretMetadata"] != 1 || held["ConfigMapMetadata"] > 1 {
		t.Errorf("of one Secret in use and 100 elsewhere are held %v", held)
	}
	eventually(t, 10*time.Second, func(context.Context) error {
		if n := f.cachedObjects("edge", "SecretMetadata"); n != 1 {
			return fmt.Errorf("the metric says %v", n)
		}
		return nil
	})
	f.reads(t, target, client.ObjectKeyFromObject(password), "one")

	f.forget()
	password.StringData = map[string]string{"v": "two"}
	if err := targetAdmin.Update(t.Context(), password); err != nil {
		t.Fatal(err)
	}
	secretIn(t, elsewhere, "late", "x")
	eventually(t, 5*time.Second, func(context.Context) error {
		if f.saw("edge", "password", true) != 1 {
			return errNotYet
		}
		return nil
	})
	f.reads(t, target, client.ObjectKeyFromObject(password), "two")
	if f.saw("edge", "late", true) != 0 {
		t.Error("an object of a namespace that is not in use was told of")
	}

	use.set()
	f.Recount("edge")
	watches(t, s)
	eventually(t, 5*time.Second, func(context.Context) error {
		if memoOf(target) != 0 {
			return fmt.Errorf("the content of a Secret outlives the use of its namespace: %w", errNotYet)
		}
		// A namespace is left first; its watches end one after another.
		if held := s.health.held(); held["SecretMetadata"] != 0 {
			return fmt.Errorf("nothing is in use any more, and held are %v", held)
		}
		return nil
	})
}

func (f *fleet) cachedObjects(cluster, kind string) float64 {
	f.t.Helper()
	families, err := f.metrics.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "cinder_operator_target_cluster_cached_objects" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["cluster"] == cluster && labels["kind"] == kind {
				return m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

func TestNamespacesThatComeAndGoLeaveNothingBehind(t *testing.T) {
	use := &tenants{}
	f := newFleet(t, use.option)
	f.register("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	// A list that fails is reason enough for new caches.
	open := func(want int) {
		t.Helper()
		f.Recount("edge")
		eventually(t, 10*time.Second, func(context.Context) error {
			if n := len(spacesOf(t, f.connected("edge")).namespaces()); n != want {
				return fmt.Errorf("%d namespaces, want %d", n, want)
			}
			return nil
		})
	}
	names := make([]string, 20)
	for i := range names {
		names[i] = newNamespace(t, targetAdmin)
	}
	f.settled(target)
	before := runtime.NumGoroutine()
	use.set(names...)
	open(len(names))
	watches(t, spacesOf(t, f.connected("edge")), names...)
	t.Logf("20 namespaces: %d goroutines more", runtime.NumGoroutine()-before)
	for range 10 {
		// Some are stopped before they have synchronised.
		use.set()
		open(0)
		use.set(names...)
		open(len(names))
	}
	use.set()
	open(0)
	eventually(t, 15*time.Second, func(context.Context) error {
		if now := runtime.NumGoroutine(); now > before+2 {
			return fmt.Errorf("%d goroutines, before %d", now, before)
		}
		return nil
	})
}

func TestANamespaceThatMayNotBeWatchedIsReadLiveUntilItMay(t *testing.T) {
	use := &tenants{}
	f := newFleet(t, use.option)
	ns := newNamespace(t, targetAdmin)
	key := client.ObjectKeyFromObject(secretIn(t, ns, "password", "one"))
	getOnly := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
	sa, role := limited(t, getOnly)
	use.set(ns)
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(tokenOf(t, sa))))
	target := f.connected("edge")
	f.reads(t, target, key, "one")
	if memoOf(target) != 0 {
		t.Error("content is kept that nobody would hear a change of")
	}
	f.settled(target)
	if f.connected("edge") != target {
		t.Error("a namespace that may not be watched made a new connection")
	}
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "list", "watch"}}}
	if err := targetAdmin.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	watches(t, spacesOf(t, target), ns)
	f.reads(t, target, key, "one")
	if _, err := target.Inputs().Secret(t.Context(), types.NamespacedName{Namespace: ns, Name: "absent"}); !apierrors.IsNotFound(err) {
		t.Errorf("an absent Secret: %v", err)
	}
}

func TestANamespaceThatIsNotAdmittedIsNotWatched(t *testing.T) {
	use := &tenants{}
	f := newFleet(t, use.option)
	use.set("default", "kube-system", "kube-public")
	f.register("edge", kubeconfig(t, targetConfig, ""), map[string]string{v1alpha1.RegistrationKeyAllowedNamespaces: "default,kube-public"})
	s := spacesOf(t, f.connected("edge"))
	watches(t, s, "default", "kube-public")
	f.register("edge", kubeconfig(t, targetConfig, ""), map[string]string{v1alpha1.RegistrationKeyAllowedNamespaces: "default"})
	watches(t, s, "default")
}

func TestAnOperatorOfOneNamespaceWatchesNoOtherOnTargets(t *testing.T) {
	ns, other := newNamespace(t, targetAdmin), newNamespace(t, targetAdmin)
	use := &tenants{}
	use.set(ns, other)
	f := newFleet(t, use.option, func(o *Options) { o.Namespace = ns })
	who := account(t)
	edge := withToken(who.token)
	f.register("edge", kubeconfig(t, targetConfig, "", edge))
	f.register("elsewhere", kubeconfig(t, targetConfig, "", edge), map[string]string{v1alpha1.RegistrationKeyNamespaces: other})
	target := f.connected("edge")
	f.shows("elsewhere", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	watches(t, spacesOf(t, target), ns)
	child(t, ns, "seen")
	hidden := child(t, other, "hidden")
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		return target.Client().Get(ctx, types.NamespacedName{Namespace: ns, Name: "seen"}, &corev1.ConfigMap{})
	})
	if err := target.Client().Get(t.Context(), client.ObjectKeyFromObject(hidden), &corev1.ConfigMap{}); err == nil {
		t.Error("a child of another namespace is cached")
	}
	f.settled(target)
	all := watchesOf(t, who.user)
	for _, path := range all {
		if !strings.Contains(path, "/namespaces/"+ns+"/") {
			t.Errorf("a watch of %s", path)
		}
	}
	if len(all) < 5 {
		t.Errorf("watches are %v", all)
	}
}
