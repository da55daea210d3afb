// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	corev1 "k8s.io/api/core/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/pipeline"
	"c5c3.io/cinder-operator/projection"
)

const (
	controllerName = "cinder"

	defaultMaxConcurrent = 10
	defaultAbandonAfter  = 5 * time.Minute

	// A step that fails is retried at once and then ever more rarely; beyond a
	// minute a repaired cluster would be noticed too late.
	retryBase = 500 * time.Millisecond
	retryMax  = time.Minute
)

// Registry is what the reconciler asks of the registered clusters.
type Registry interface {
	Resolve(ctx context.Context, ref *v1alpha1.TargetClusterRefSpec, hubNamespace string) (clusters.Target, error)
	ResolveForDeletion(ctx context.Context, ref *v1alpha1.TargetClusterRefSpec, hubNamespace string) (clusters.Target, error)
	Changes(mapFn func(ctx context.Context, cluster string) []reconcile.Request) source.TypedSource[mcreconcile.Request]
	Objects(mapFn func(ctx context.Context, ev clusters.Event) []reconcile.Request) source.TypedSource[mcreconcile.Request]
}

var _ Registry = (*clusters.Registry)(nil)

// Deps are what the Cinder controller is built from.
type Deps struct {
	// Registry and Projector are required.
	Registry  Registry
	Projector *projection.Projector
	// Registerer takes the metrics. Required.
	Registerer prometheus.Registerer
	// Pipeline are the two vectors of the step table, which other controllers
	// may share. Nil registers them with Registerer.
	Pipeline *pipeline.Metrics
	// Recorder writes events on the hub. Nil takes the manager's.
	Recorder events.EventRecorder
	// DefaultImagePullPolicy overrides the policy that follows from the image
	// reference. Empty keeps it.
	DefaultImagePullPolicy corev1.PullPolicy
	// AbandonAfter is each of the two windows before the children on a
	// deregistered cluster are given up. Default 5 minutes.
	AbandonAfter time.Duration
	// MaxConcurrent is how many Cinders are reconciled at a time. Default 10.
	MaxConcurrent int
	// InCluster says that the operator runs on the hub, where Service names
	// resolve: local health probes then take the direct way.
	InCluster bool
	// Namespace is the one namespace a namespace-scoped operator serves; empty
	// for all.
	Namespace string
	// OperatorNamespace is where the operator's own pods run, when it runs on
	// the hub.
	OperatorNamespace string
	// Intervals are the requeue intervals; zero fields stand for the constants.
	Intervals Intervals
}

// Reconciler reconciles Cinder resources.
type Reconciler struct {
	Deps

	hub     client.Client
	live    client.Reader // of the hub, past the cache
	steps   *pipeline.Engine[*Pass]
	metrics *metrics
	probes  *probeCache
	missing *missingSince
	bus     *busMemory
	told    *toldFaults
	// deferred remembers what was said of Jobs that could not be told of.
	deferred *deferrals
	http     *http.Client
	now      func() time.Time
	// backupTargets names the backup targets of a Cinder.
	backupTargets func(context.Context, *v1alpha1.Cinder) []string
}

// SetupWithManager adds the Cinder controller to mgr, with its field indexes:
// set it up before the satellite controllers, which use them.
func SetupWithManager(mgr mcmanager.Manager, deps Deps) error {
	r, err := newReconciler(mgr, deps)
	if err != nil {
		return err
	}
	local := mgr.GetLocalManager()
	if err := addIndexes(local.GetFieldIndexer()); err != nil {
		return err
	}
	onHub := []mcbuilder.EngageOptions{mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false)}
	err = mcbuilder.ControllerManagedBy(mgr).
		Named(controllerName).
		For(&v1alpha1.Cinder{}, onHub[0], onHub[1]).
		Watches(&v1alpha1.CinderBackend{}, mapToParents(parentOfBackend), onHub[0], onHub[1]).
		Watches(&v1alpha1.CinderBackupBackend{}, mapToParents(parentOfBackupBackend), onHub[0], onHub[1]).
		WatchesRawSource(r.Registry.Changes(r.cindersOfCluster)).
		WatchesRawSource(r.Registry.Objects(r.cindersOfObject)).
		// A missing target is no missing request: it must come back.
		WithClusterNotFoundWrapper(false).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{
			MaxConcurrentReconciles: r.MaxConcurrent,
			RecoverPanic:            ptr.To(true),
			SkipNameValidation:      local.GetControllerOptions().SkipNameValidation,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[mcreconcile.Request](retryBase, retryMax),
		}).
		Complete(reconcile.TypedFunc[mcreconcile.Request](r.Reconcile))
	if err != nil {
		return fmt.Errorf("set up the Cinder controller: %w", err)
	}
	return setupOrphans(mgr, r.Deps)
}

func newReconciler(mgr mcmanager.Manager, deps Deps) (*Reconciler, error) {
	if deps.Registry == nil || deps.Projector == nil || deps.Registerer == nil {
		return nil, errors.New("set up the Cinder controller: Registry, Projector and Registerer are required")
	}
	if deps.MaxConcurrent <= 0 {
		deps.MaxConcurrent = defaultMaxConcurrent
	}
	if deps.AbandonAfter <= 0 {
		deps.AbandonAfter = defaultAbandonAfter
	}
	if deps.Recorder == nil {
		deps.Recorder = mgr.GetLocalManager().GetEventRecorder("cinder-operator")
	}
	deps.Intervals = deps.Intervals.withDefaults()
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	if deps.Pipeline == nil {
		if deps.Pipeline, err = pipeline.NewMetrics(deps.Registerer); err != nil {
			return nil, err
		}
	}
	r := &Reconciler{
		Deps:     deps,
		hub:      mgr.GetLocalManager().GetClient(),
		live:     mgr.GetLocalManager().GetAPIReader(),
		metrics:  m,
		probes:   newProbeCache(),
		missing:  newMissingSince(),
		bus:      newBusMemory(),
		told:     newToldFaults(),
		deferred: newDeferrals(),
		http:     newProbeClient(),
		now:      time.Now,
	}
	r.backupTargets = r.listBackupTargets
	r.steps = r.engine(deps.Pipeline)
	return r, nil
}
