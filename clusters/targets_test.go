// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// widgetCRD makes the optional kind be served by the target.
func widgetCRD(t *testing.T, on *rest.Config) (remove func()) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + widget.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widget.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: widget.Kind, ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: widget.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
	crds := []*apiextensionsv1.CustomResourceDefinition{crd}
	if _, err := envtest.InstallCRDs(on, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := envtest.UninstallCRDs(on, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
			t.Error(err)
		}
	}
}

func newWidget(namespace, name string) *unstructured.Unstructured {
	w := &unstructured.Unstructured{}
	w.SetGroupVersionKind(widget)
	w.SetNamespace(namespace)
	w.SetName(name)
	w.SetLabels(ours)
	return w
}

func TestAKindThatAppearsIsServedAndWatchedWithoutAReconnection(t *testing.T) {
	f := newFleet(t)
	f.register("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	ns := newNamespace(t, targetAdmin)
	if ok, err := target.Serves(widget); ok || err != nil {
		t.Fatalf("before the CRD: %t, %v", ok, err)
	}
	key := client.ObjectKey{Namespace: ns, Name: "first"}
	err := target.Client().Get(t.Context(), key, newWidget("", ""))
	var uncached *cache.ErrResourceNotCached
	if !errors.As(err, &uncached) || !strings.Contains(err.Error(), `Widget is not cached on "edge"`) {
		t.Errorf("a cached read of a kind that is not served: %v", err)
	}

	told := f.changed("edge")
	remove := widgetCRD(t, targetConfig)
	defer remove()
	eventually(t, 15*time.Second, func(context.Context) error {
		if ok, err := target.Serves(widget); !ok {
			return fmt.Errorf("not served (%w)", errors.Join(err, errNotYet))
		}
		return nil
	})
	if err := targetAdmin.Create(t.Context(), newWidget(ns, "first")); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		if f.saw("edge", "first", false) == 0 {
			return errNotYet
		}
		return target.Client().Get(ctx, key, newWidget("", ""))
	})
	if f.changed("edge") == told {
		t.Error("nobody was told that the cluster serves another kind")
	}

	remove()
	eventually(t, 15*time.Second, func(ctx context.Context) error {
		if ok, err := target.Serves(widget); ok || err != nil {
			return fmt.Errorf("still served (%w)", errors.Join(err, errNotYet))
		}
		if err := target.Client().Get(ctx, key, newWidget("", "")); !errors.As(err, &uncached) {
			return fmt.Errorf("still cached: %w", errors.Join(err, errNotYet))
		}
		return nil
	})
	f.settled(target)
	if f.connected("edge") != target {
		t.Error("a kind that came and went made a new connection")
	}
}

func TestACacheHoldsOnlyWhatIsOurs(t *testing.T) {
	f := newFleet(t)
	ns := newNamespace(t, targetAdmin)
	mine := child(t, ns, "mine")
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "foreign", Labels: map[string]string{"a": "b"}}}
	if err := targetAdmin.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	f.register("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	got := &corev1.ConfigMap{}
	if err := target.Client().Get(t.Context(), client.ObjectKeyFromObject(mine), got); err != nil {
		t.Fatal(err)
	}
	if len(got.ManagedFields) != 0 {
		t.Error("managedFields are cached")
	}
	if err := target.Client().Get(t.Context(), client.ObjectKeyFromObject(foreign), got); !apierrors.IsNotFound(err) {
		t.Errorf("a foreign object is cached: %v", err)
	}
	conn, _ := target.(*connection)
	var seen client.Object
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		var watched bool
		if seen, watched = conn.inputs.spaces.get(kindKey{gvkConfigMap, true}, client.ObjectKeyFromObject(foreign)); !watched {
			return errNotYet
		}
		return nil
	})
	if seen == nil || len(seen.GetLabels())+len(seen.GetAnnotations())+len(seen.GetManagedFields()) != 0 || seen.GetResourceVersion() == "" {
		t.Errorf("of a foreign object is kept %+v", seen)
	}
	if err := target.Client().Get(t.Context(), client.ObjectKeyFromObject(mine), &corev1.Pod{}); err == nil {
		t.Error("a read of a kind that nobody watches started an informer")
	}

	t.Run("and losing the label is told as a deletion", func(t *testing.T) {
		mine.Labels = nil
		if err := targetAdmin.Update(t.Context(), mine); err != nil {
			t.Fatal(err)
		}
		eventually(t, 10*time.Second, func(context.Context) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, ev := range f.objects {
				if ev.Deleted && ev.Object.GetName() == "mine" && ev.Object.GetLabels()["openstack.c5c3.io/owner-kind"] == "Cinder" {
					return nil
				}
			}
			return errNotYet
		})
	})
}

func TestInputsAreReadAgainOnlyWhenTheyMoved(t *testing.T) {
	f := newFleet(t)
	f.register("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	ns := newNamespace(t, targetAdmin)
	key := types.NamespacedName{Namespace: ns, Name: "password"}
	for _, on := range []struct {
		Target
		admin client.Client
		ns    string
	}{{target, targetAdmin, ns}, {f.Hub(), hubAdmin, newNamespace(t, hubAdmin)}} {
		t.Run(on.String(), func(t *testing.T) {
			key.Namespace = on.ns
			if _, err := on.Inputs().Secret(t.Context(), key); !apierrors.IsNotFound(err) {
				t.Fatalf("before it exists: %v", err)
			}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: on.ns, Name: "password"}, StringData: map[string]string{"v": "one"}}
			if err := on.admin.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			f.reads(t, on.Target, key, "one")
			before := f.requests("edge", "200")
			got := f.reads(t, on.Target, key, "one")
			got.Data["v"][0] = 'X' // the caller's copy
			const reads = 50
			for range reads {
				f.reads(t, on.Target, key, "one")
			}
			if n := f.requests("edge", "200") - before; on.Target == target && n > reads/2 {
				t.Errorf("%v requests for %d reads of an object that did not move; probes aside there are to be none", n, reads)
			}
			secret.StringData = map[string]string{"v": "two"}
			if err := on.admin.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			f.reads(t, on.Target, key, "two")
			eventually(t, 5*time.Second, func(context.Context) error {
				if f.saw(on.Name(), "password", true) == 0 {
					return errNotYet
				}
				return nil
			})
			if err := on.admin.Delete(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			eventually(t, 5*time.Second, func(ctx context.Context) error {
				if _, err := on.Inputs().Secret(ctx, key); !apierrors.IsNotFound(err) {
					return fmt.Errorf("%w: %w", errNotYet, err)
				}
				return nil
			})
			if memoOf(on.Target) != 0 {
				t.Error("the content of a deleted Secret is kept")
			}
		})
	}
}

// memoOf answers of how many objects the content is kept.
func memoOf(t Target) int {
	in, ok := t.Inputs().(*inputs)
	if !ok {
		return -1
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.memo)
}

func (f *fleet) reads(t *testing.T, from Target, key types.NamespacedName, want string) *corev1.Secret {
	t.Helper()
	var got *corev1.Secret
	eventually(t, 5*time.Second, func(ctx context.Context) error {
		var err error
		if got, err = from.Inputs().Secret(ctx, key); err != nil {
			return err
		}
		if string(got.Data["v"]) != want {
			return fmt.Errorf("got %q: %w", got.Data["v"], errNotYet)
		}
		return nil
	})
	return got
}

func TestContentThatNobodyAsksForIsForgotten(t *testing.T) {
	in := &inputs{memo: map[inputKey]*memoized{}}
	now := time.Now()
	at := inputKey{"Secret", types.NamespacedName{Name: "a"}}
	in.memo[at] = &memoized{obj: &corev1.Secret{}, used: now}
	in.expire(now.Add(inputTTL))
	if len(in.memo) != 1 {
		t.Fatal("it is forgotten too soon")
	}
	in.expire(now.Add(inputTTL + time.Second))
	if len(in.memo) != 0 {
		t.Error("it is kept")
	}
}

func TestAForbiddenKindHoldsNothingElseBack(t *testing.T) {
	f := newFleet(t)
	ns := newNamespace(t, targetAdmin)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "limited-" + ns}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
	}}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limited"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: sa.Name}},
	}
	for _, obj := range []client.Object{role, sa, binding} {
		if err := targetAdmin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(tokenOf(t, sa))))
	target := f.connected("edge")
	if !strings.HasPrefix(string(target.UID()), "sha256-") {
		t.Errorf("identity of a cluster whose kube-system may not be read: %s", target.UID())
	}
	child(t, ns, "seen")
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		return target.Client().Get(ctx, client.ObjectKey{Namespace: ns, Name: "seen"}, &corev1.ConfigMap{})
	})
	err := target.Client().Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "seen"}, &appsv1.Deployment{})
	if err == nil || !apierrors.IsForbidden(err) {
		t.Errorf("a read of the forbidden kind: %v", err)
	}

	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list", "watch"}})
	if err := targetAdmin.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	eventually(t, 15*time.Second, func(ctx context.Context) error {
		err := target.Client().Get(ctx, client.ObjectKey{Namespace: ns, Name: "seen"}, &appsv1.Deployment{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the right that was given is not noticed: %w", err)
		}
		return nil
	})
}

func TestAnAbsentNamespaceIsSaidToBeAbsent(t *testing.T) {
	f := newFleet(t)
	f.register("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "nowhere", Name: "a", Labels: ours}}
	err := target.Client().Create(t.Context(), cm)
	u, ok := AsUnavailable(err)
	if !ok || u.Cause != CauseNamespaceAbsent || u.Message != `namespace "nowhere" does not exist on target cluster "edge": create it there` {
		t.Errorf("a create: %v", err)
	}
	apply := client.ApplyConfigurationFromUnstructured(func() *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(gvkConfigMap)
		o.SetNamespace("nowhere")
		o.SetName("a")
		return o
	}())
	err = target.Client().Apply(t.Context(), apply, client.FieldOwner("test"))
	if u, ok := AsUnavailable(err); !ok || u.Cause != CauseNamespaceAbsent {
		t.Errorf("an apply: %v", err)
	}
	err = target.APIReader().Get(t.Context(), client.ObjectKey{Namespace: "nowhere", Name: "a"}, cm)
	if _, ok := AsUnavailable(err); ok || !apierrors.IsNotFound(err) {
		t.Errorf("a read: %v", err)
	}
}

func TestTheHubIsATargetLikeAnyOther(t *testing.T) {
	// The hub is to learn of a CRD from its watch, not from the next look.
	f := newFleet(t, func(o *Options) { o.DiscoverEvery = 1000 })
	var target Target
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		var err error
		target, err = f.Resolve(ctx, nil, "default")
		return err
	})
	if !target.IsHub() || target.Name() != "" || target.String() != "the hub" || target.UID() == "" {
		t.Errorf("%s: name %q, hub %t, UID %q", target, target.Name(), target.IsHub(), target.UID())
	}
	if ok, err := target.Serves(appsv1.SchemeGroupVersion.WithKind("Deployment")); !ok || err != nil {
		t.Errorf("it serves Deployments: %t, %v", ok, err)
	}
	if ok, err := target.Serves(widget); ok || err != nil {
		t.Errorf("it serves widgets: %t, %v", ok, err)
	}
	ns := newNamespace(t, hubAdmin)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "local", Labels: ours}}
	if err := target.Client().Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if _, err := target.Inputs().ConfigMap(t.Context(), client.ObjectKeyFromObject(cm)); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		if f.saw("", "local", false) == 0 || f.saw("", "local", true) == 0 {
			return errNotYet
		}
		return target.Client().Get(ctx, client.ObjectKeyFromObject(cm), &corev1.ConfigMap{})
	})
	told := f.changed("")
	if told == 0 {
		t.Error("nobody was told that the hub's caches are filled")
	}
	defer widgetCRD(t, hubConfig)()
	eventually(t, 10*time.Second, func(context.Context) error {
		if ok, err := target.Serves(widget); !ok || f.changed("") == told {
			return fmt.Errorf("a CRD that appeared on the hub is not noticed: %w", errors.Join(errNotYet, err))
		}
		return nil
	})
}

func TestServiceProxyTellsTheAPIServersAnswerFromTheServices(t *testing.T) {
	f := newFleet(t)
	f.register("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	ns := newNamespace(t, targetAdmin)
	request := ServiceRequest{Namespace: ns, Name: "cinder-api", Port: "8776", Path: "/healthcheck"}
	resp, err := target.ServiceProxy(t.Context(), request)
	if err != nil || resp.StatusCode != http.StatusNotFound || !resp.FromProxy {
		t.Errorf("of a Service that does not exist: %d, from the API server %t, %v", resp.StatusCode, resp.FromProxy, err)
	}
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cinder-api"}}
	svc.Spec.Ports = []corev1.ServicePort{{Port: 8776}}
	// No controller manager makes it here.
	endpoints := &unstructured.Unstructured{}
	endpoints.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Endpoints"))
	endpoints.SetNamespace(ns)
	endpoints.SetName(svc.Name)
	for _, obj := range []client.Object{svc, endpoints} {
		if err := targetAdmin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 5*time.Second, func(ctx context.Context) error {
		resp, err := target.ServiceProxy(ctx, request)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !resp.FromProxy || !strings.Contains(string(resp.Body), "no endpoints available") {
			return fmt.Errorf("of a Service without endpoints: %d, from the API server %t, %s, %w", resp.StatusCode, resp.FromProxy, resp.Body, err)
		}
		return nil
	})
}
