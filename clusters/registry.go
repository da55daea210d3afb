// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Registry knows the hub and every registered target cluster.
type Registry struct {
	opts Options
	bus  *bus

	mu  sync.RWMutex
	hub *hub
}

var (
	_ multicluster.Provider         = (*Registry)(nil)
	_ multicluster.ProviderRunnable = (*Registry)(nil)
)

// New makes a Registry. Nothing is read or connected before Start.
func New(opts Options) (*Registry, error) {
	opts, err := opts.validated()
	if err != nil {
		return nil, err
	}
	r := &Registry{opts: opts, bus: newBus()}
	if opts.Hub != nil {
		if err := r.SetHub(opts.Hub); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// SetHub gives the cluster that holds the custom resources: the manager's local one. Its cache should be made by NewCache.
func (r *Registry) SetHub(cl cluster.Cluster) error {
	h, err := newHub(cl, r.opts, r.bus.object)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hub = h
	return nil
}

// Hub is the Target of the hub. Before the registry has started it answers, but its cache does not.
func (r *Registry) Hub() Target {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.hub
}

func (r *Registry) Start(ctx context.Context, _ multicluster.Aware) error {
	<-ctx.Done()
	return nil
}

func (r *Registry) Get(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	return nil, multicluster.ErrClusterNotFound
}

func (r *Registry) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	return nil
}

func (r *Registry) Resolve(ctx context.Context, ref *v1alpha1.TargetClusterRefSpec, hubNamespace string) (Target, error) {
	return r.Hub(), nil
}

func (r *Registry) ResolveForDeletion(ctx context.Context, ref *v1alpha1.TargetClusterRefSpec, hubNamespace string) (Target, error) {
	return r.Hub(), nil
}
