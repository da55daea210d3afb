// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

// The controllers of both kinds read and write on the hub. What they read of a
// target cluster is granted there.
//
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=cinders,verbs=get;list;watch
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=cinderbackends;cinderbackupbackends,verbs=list;watch
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=cinderbackends,verbs=patch
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=cinderbackends/status;cinderbackupbackends/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Registry is what the controllers need of clusters.Registry.
type Registry interface {
	Resolve(ctx context.Context, ref *v1alpha1.TargetClusterRefSpec, hubNamespace string) (clusters.Target, error)
	Changes(mapFn func(ctx context.Context, cluster string) []reconcile.Request) source.TypedSource[mcreconcile.Request]
	Objects(mapFn func(ctx context.Context, ev clusters.Event) []reconcile.Request) source.TypedSource[mcreconcile.Request]
}

var _ Registry = (*clusters.Registry)(nil)

// Options are what both controllers work with. The first five are required.
type Options struct {
	// Client reads the hub's cache and writes to the hub.
	Client client.Client
	// APIReader reads live from the hub.
	APIReader client.Reader
	Registry  Registry
	Projector *projection.Projector
	// Recorder writes the events of CinderBackends. CinderBackupBackends get none.
	Recorder events.EventRecorder
	// Namespace is the one hub namespace that is served; empty serves all.
	Namespace string
	// MaxConcurrentReconciles bounds the passes that run at the same time, for
	// each kind. The default is 1.
	MaxConcurrentReconciles int
	// Poll is how often a satellite that waits, or has a key, is looked at again. The
	// default is 15 seconds.
	Poll time.Duration
	// SkipNameValidation admits a second pair of controllers in one process.
	SkipNameValidation bool
}

// SetupWithManager adds the controllers of both kinds. The indexes they look
// objects up by are registered by the Cinder's controller, which therefore has
// to be set up first.
func SetupWithManager(mgr mcmanager.Manager, opts Options) error {
	if opts.Client == nil || opts.APIReader == nil || opts.Registry == nil || opts.Projector == nil || opts.Recorder == nil {
		return errors.New("set up the satellite controllers: client, API reader, registry, projector and recorder are required")
	}
	for _, k := range []kind{backends(), backupBackends()} {
		if err := setup(mgr, &reconciler{Options: opts, kind: k}); err != nil {
			return fmt.Errorf("set up the controller of %s: %w", k.name, err)
		}
	}
	return nil
}

func setup(mgr mcmanager.Manager, r *reconciler) error {
	// With a provider the builder watches its clusters and not the hub unless it
	// is told otherwise. Every custom resource is on the hub.
	hub := mcbuilder.WithEngageWithLocalCluster(true)
	noProvider := mcbuilder.WithEngageWithProviderClusters(false)
	return mcbuilder.ControllerManagedBy(mgr).
		Named(strings.ToLower(r.kind.name)).
		For(r.kind.object(), hub, noProvider).
		// No generation predicate: the parent's status tells of the projection
		// and its deletion releases a waiting satellite.
		Watches(&v1alpha1.Cinder{}, r.onParent, hub, noProvider).
		WatchesRawSource(r.Registry.Changes(r.ofCluster)).
		WatchesRawSource(r.Registry.Objects(r.ofEvent)).
		// An error that wraps ErrClusterNotFound would be swallowed otherwise.
		WithClusterNotFoundWrapper(false).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{
			MaxConcurrentReconciles: max(1, r.MaxConcurrentReconciles),
			RecoverPanic:            ptr.To(true),
			// The default limiter backs off to a quarter of an hour: what a failed read could not tell is looked at
			// again as soon as what is polled.
			RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[mcreconcile.Request](retryBase, requeueSecretPolling),
			SkipNameValidation: ptr.To(r.SkipNameValidation),
		}).
		Complete(r)
}

func (r *reconciler) onParent(multicluster.ClusterName, cluster.Cluster) handler.TypedEventHandler[client.Object, mcreconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []mcreconcile.Request {
		found := r.ofParent(ctx, o.GetNamespace(), o.GetName())
		out := make([]mcreconcile.Request, 0, len(found))
		for _, s := range found {
			out = append(out, mcreconcile.Request{Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}})
		}
		return out
	})
}
