// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

func newProjector() *projection.Projector {
	return projection.New(projection.Options{Scheme: scheme, HubUID: "hub-1"})
}

// target is the package's API server as a target cluster, with the answers that
// a test wants to be different.
type target struct {
	name string
	uid  types.UID

	mu       sync.Mutex
	inputErr error
	serves   map[schema.GroupVersionKind]bool
}

var _ clusters.Target = (*target)(nil)

func newTarget(name string) *target {
	return &target{name: name, uid: "uid-1", serves: map[schema.GroupVersionKind]bool{}}
}

func (t *target) Name() string             { return t.name }
func (t *target) IsHub() bool              { return t.name == "" }
func (t *target) UID() types.UID           { return t.uid }
func (t *target) Client() client.Client    { return api }
func (t *target) APIReader() client.Reader { return api }
func (t *target) Inputs() clusters.Inputs  { return t }
func (t *target) String() string           { return fmt.Sprintf("%q", t.name) }

func (t *target) Serves(gvk schema.GroupVersionKind) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.serves[gvk], nil
}

func (t *target) APIServerCIDRs(context.Context) ([]string, error) {
	return nil, errors.New("a satellite writes no network policy")
}

func (t *target) ServiceProxy(context.Context, clusters.ServiceRequest) (clusters.ServiceResponse, error) {
	return clusters.ServiceResponse{}, fmt.Errorf("a satellite asks no Service")
}

func (t *target) Secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	t.mu.Lock()
	err := t.inputErr
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	return secret, api.Get(ctx, key, secret)
}

func (t *target) ConfigMap(context.Context, types.NamespacedName) (*corev1.ConfigMap, error) {
	return nil, fmt.Errorf("a satellite reads no ConfigMap")
}

// registry answers Resolve as a test says, and tells controllers of what the
// test makes happen.
type registry struct {
	mu      sync.Mutex
	target  clusters.Target
	err     error
	changes []func(string)
	objects []func(clusters.Event)
}

var _ Registry = (*registry)(nil)

type queue = workqueue.TypedRateLimitingInterface[mcreconcile.Request]

func (r *registry) Resolve(context.Context, *v1alpha1.TargetClusterRefSpec, string) (clusters.Target, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.target, r.err
}

func (r *registry) answer(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *registry) Changes(mapFn func(context.Context, string) []reconcile.Request) source.TypedSource[mcreconcile.Request] {
	return source.TypedFunc[mcreconcile.Request](func(ctx context.Context, q queue) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changes = append(r.changes, func(name string) { add(q, mapFn(ctx, name)) })
		return nil
	})
}

func (r *registry) Objects(mapFn func(context.Context, clusters.Event) []reconcile.Request) source.TypedSource[mcreconcile.Request] {
	return source.TypedFunc[mcreconcile.Request](func(ctx context.Context, q queue) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.objects = append(r.objects, func(ev clusters.Event) { add(q, mapFn(ctx, ev)) })
		return nil
	})
}

func add(q queue, requests []reconcile.Request) {
	for _, req := range requests {
		q.Add(mcreconcile.Request{Request: req})
	}
}

func (r *registry) changed(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tell := range r.changes {
		tell(name)
	}
}

func (r *registry) happened(ev clusters.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tell := range r.objects {
		tell(ev)
	}
}

// recorder keeps events as "Kind/name Type Reason".
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) Eventf(regarding, _ runtime.Object, eventtype, reason, _, _ string, _ ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gvk := "?"
	switch regarding.(type) {
	case *v1alpha1.CinderBackend:
		gvk = v1alpha1.KindCinderBackend
	case *v1alpha1.CinderBackupBackend:
		gvk = v1alpha1.KindCinderBackupBackend
	}
	name := ""
	if o, ok := regarding.(client.Object); ok {
		name = o.GetName()
	}
	r.list = append(r.list, gvk+"/"+name+" "+eventtype+" "+reason)
}

func (r *recorder) events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.list...)
}
