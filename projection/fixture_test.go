// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

const (
	hubA = "aaaaaaaa-0000-0000-0000-000000000001"
	hubB = "bbbbbbbb-0000-0000-0000-000000000002"
	edge = "edge-1"

	// somebody is the field manager of what the tests write by hand.
	somebody = "kubectl-edit"
)

var namespaces atomic.Int64

// fixture is an owner in a namespace of its own, and a target for its children.
type fixture struct {
	*testing.T
	ctx    context.Context
	ns     string
	admin  client.Client
	owner  *corev1.ConfigMap
	target *testTarget
	p      *projection.Projector
	scope  *projection.Scope
}

// onTarget is an owner whose children live on a target cluster, onHub one whose
// children live beside it. The owner is a ConfigMap: whoever owns is only a
// name, a kind and a UID here.
func onTarget(t *testing.T) *fixture { return newFixture(t, edge) }
func onHub(t *testing.T) *fixture    { return newFixture(t, "") }

func newFixture(t *testing.T, cluster string) *fixture {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	f := &fixture{T: t, ctx: ctx, ns: fmt.Sprintf("test-%d", namespaces.Add(1))}
	var err error
	if f.admin, err = client.New(apiServer, client.Options{Scheme: scheme, FieldOwner: somebody}); err != nil {
		t.Fatal(err)
	}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.ns}})
	f.owner = f.newOwner("cinder")
	f.target = newTarget(t, cluster, f.ns, hubA)
	f.p = projection.New(projection.Options{Scheme: scheme, HubUID: hubA})
	f.scope = f.scopeOf(f.p, f.target, f.owner)
	return f
}

func (f *fixture) newOwner(name string) *corev1.ConfigMap {
	f.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name + "-owner"}}
	f.create(owner)
	return owner
}

func (f *fixture) scopeOf(p *projection.Projector, t clusters.Target, owner client.Object) *projection.Scope {
	f.Helper()
	s, err := p.Scope(t, owner)
	if err != nil {
		f.Fatal(err)
	}
	return s
}

func (f *fixture) create(obj client.Object) {
	f.Helper()
	if err := f.admin.Create(f.ctx, obj); err != nil {
		f.Fatal(err)
	}
}

// apply applies and waits until the cache has seen the result.
func (f *fixture) apply(obj client.Object) client.Object {
	f.Helper()
	live, err := projection.Apply(f.ctx, f.scope, obj)
	if err != nil {
		f.Fatal(err)
	}
	f.awaitCached(live)
	return live
}

// live reads an object past every cache.
func (f *fixture) live(obj client.Object) client.Object {
	f.Helper()
	out := blank(obj)
	if err := f.admin.Get(f.ctx, f.keyOf(obj), out); err != nil {
		f.Fatal(err)
	}
	return out
}

func (f *fixture) keyOf(obj client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: f.ns, Name: obj.GetName()}
}

// awaitCached waits until the cache shows an object as it is live: absent where
// the cache's selector hides it.
func (f *fixture) awaitCached(obj client.Object) {
	f.Helper()
	f.eventually("the cache shows "+obj.GetName(), func() (bool, error) {
		live, cached := blank(obj), blank(obj)
		liveErr := f.admin.Get(f.ctx, f.keyOf(obj), live)
		cachedErr := f.target.client.Get(f.ctx, f.keyOf(obj), cached)
		if err := client.IgnoreNotFound(liveErr); err != nil {
			return false, err
		}
		if err := client.IgnoreNotFound(cachedErr); err != nil {
			return false, err
		}
		if liveErr != nil || live.GetLabels()[projection.LabelOwnerHub] != hubA {
			return cachedErr != nil, nil
		}
		return cachedErr == nil && cached.GetResourceVersion() == live.GetResourceVersion(), nil
	})
}

func (f *fixture) eventually(what string, condition func() (bool, error)) {
	f.Helper()
	err := wait.PollUntilContextTimeout(f.ctx, 5*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) { return condition() })
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
}

// edit changes an object by hand, behind the operator's back, and waits until
// the cache has seen it.
func (f *fixture) edit(obj client.Object, change func(client.Object)) {
	f.Helper()
	f.eventually("edit "+obj.GetName(), func() (bool, error) {
		live := f.live(obj)
		change(live)
		err := f.admin.Update(f.ctx, live)
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return err == nil, err
	})
	f.awaitCached(obj)
}

func (f *fixture) remove(obj client.Object) {
	f.Helper()
	victim := blank(obj)
	victim.SetNamespace(f.ns)
	victim.SetName(obj.GetName())
	if err := f.admin.Delete(f.ctx, victim, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		f.Fatal(err)
	}
	f.awaitCached(obj)
}

func (f *fixture) exists(obj client.Object) bool {
	f.Helper()
	err := f.admin.Get(f.ctx, f.keyOf(obj), blank(obj))
	if client.IgnoreNotFound(err) != nil {
		f.Fatal(err)
	}
	return err == nil
}

func blank(obj client.Object) client.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		out := &unstructured.Unstructured{}
		out.SetGroupVersionKind(u.GroupVersionKind())
		return out
	}
	return reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
}

// ownershipLabels are the four labels of the fixture's children.
func (f *fixture) ownershipLabels() map[string]string {
	return map[string]string{
		projection.LabelOwnerKind:      "ConfigMap",
		projection.LabelOwnerName:      f.owner.Name,
		projection.LabelOwnerNamespace: f.ns,
		projection.LabelOwnerHub:       hubA,
	}
}

// status writes a status, as the cluster's own controllers do, and waits until
// the cache has seen it.
func (f *fixture) status(obj client.Object) {
	f.Helper()
	if d, ok := obj.(*appsv1.Deployment); ok {
		d.Status.Replicas, d.Status.ReadyReplicas, d.Status.ObservedGeneration = 1, 1, d.Generation
	}
	if err := f.admin.Status().Update(f.ctx, obj); err != nil {
		f.Fatal(err)
	}
	f.awaitCached(obj)
}

func data(obj client.Object) map[string]string {
	out := map[string]string{}
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		out = o.Data
	case *corev1.Secret:
		for k, v := range o.Data {
			out[k] = string(v)
		}
	}
	return out
}

// release takes the finalizers off an object, which may end it.
func (f *fixture) release(obj client.Object) {
	f.Helper()
	live := f.live(obj)
	live.SetFinalizers(nil)
	if err := f.admin.Update(f.ctx, live); err != nil {
		f.Fatal(err)
	}
	f.awaitCached(obj)
}
