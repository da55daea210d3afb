// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

const (
	orphansName = "orphans"

	// orphansPeriod is how often a connected cluster is counted again: orphans are
	// made by a registration that goes, and removed by people, neither of which
	// anything tells.
	orphansPeriod = 10 * time.Minute
	// orphansStarting is when a cluster is asked for again whose first connection
	// attempt has not ended.
	orphansStarting = 2 * time.Second
	// orphansDeadline bounds one count: a page of each kind at a time, each call
	// with the deadline of its own.
	orphansDeadline = time.Minute
)

// orphanCounter counts, on every connected target, the children of this hub
// whose Cinder is gone. It deletes nothing: what was given up may be all that is
// left of somebody's volumes.
type orphanCounter struct {
	Deps
	hub    client.Client
	live   client.Reader
	counts *prometheus.GaugeVec
	// last is what was found at the last count, which the one worker alone knows.
	last map[string]int
}

// setupOrphans adds the counter to mgr. One cluster after the other is counted:
// a fleet that connects at once is not to be listed at once.
func setupOrphans(mgr mcmanager.Manager, deps Deps) error {
	local := mgr.GetLocalManager()
	o := &orphanCounter{Deps: deps, hub: local.GetClient(), live: local.GetAPIReader(), counts: newOrphanGauge(), last: map[string]int{}}
	if err := deps.Registerer.Register(o.counts); err != nil {
		return fmt.Errorf("register the metric of orphans: %w", err)
	}
	err := mcbuilder.ControllerManagedBy(mgr).
		Named(orphansName).
		For(&v1alpha1.TargetCluster{}, mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false),
			mcbuilder.WithPredicates(reconnected())).
		WithClusterNotFoundWrapper(false).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{
			MaxConcurrentReconciles: 1,
			SkipNameValidation:      local.GetControllerOptions().SkipNameValidation,
		}).
		Complete(reconcile.TypedFunc[mcreconcile.Request](o.Reconcile))
	if err != nil {
		return fmt.Errorf("set up the count of orphans: %w", err)
	}
	return nil
}

func newOrphanGauge() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "cinder_operator_orphaned_children",
		Help: "Children on the target cluster whose Cinder is gone from the hub.",
	}, []string{"cluster"})
}

// reconnected passes what changes where, or whether, a cluster can be counted.
func reconnected() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*v1alpha1.TargetCluster)
		is, okNew := e.ObjectNew.(*v1alpha1.TargetCluster)
		if !ok || !okNew {
			return false
		}
		before := meta.FindStatusCondition(was.Status.Conditions, v1alpha1.ConditionConnected)
		now := meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionConnected)
		if now == nil || now.Status != metav1.ConditionTrue {
			return false
		}
		return before == nil || before.Status != metav1.ConditionTrue || !slices.Equal(was.Status.Namespaces, is.Status.Namespaces)
	}}
}

// Reconcile counts the orphans on one cluster. The last count stands while the
// cluster is away, and goes with its registration.
func (o *orphanCounter) Reconcile(ctx context.Context, req mcreconcile.Request) (ctrl.Result, error) {
	tc := &v1alpha1.TargetCluster{}
	if err := o.hub.Get(ctx, req.NamespacedName, tc); err != nil {
		if apierrors.IsNotFound(err) {
			o.counts.DeleteLabelValues(req.Name)
			delete(o.last, req.Name)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get TargetCluster %s: %w", req.NamespacedName, err)
	}
	namespaces := o.counted(tc)
	target, err := o.Registry.ResolveForDeletion(ctx, &v1alpha1.TargetClusterRefSpec{Name: tc.Name}, namespaces[0])
	switch {
	case isStarting(err):
		return ctrl.Result{RequeueAfter: orphansStarting}, nil
	case err != nil:
		// It is counted when it connects.
		return ctrl.Result{RequeueAfter: orphansPeriod}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, orphansDeadline)
	defer cancel()
	orphans, err := o.Projector.Orphans(ctx, target, namespaces, o.exists)
	if err != nil {
		if _, away := clusters.AsUnavailable(err); !away {
			log.FromContext(ctx).Error(err, "count the orphans", "cluster", tc.Name)
		}
		return ctrl.Result{RequeueAfter: orphansPeriod}, nil
	}
	// What is being deleted already is nothing that somebody has to see to.
	orphans = slices.DeleteFunc(orphans, func(c projection.Orphan) bool { return c.Terminating })
	if n := len(orphans); n > 0 && n != o.last[tc.Name] {
		log.FromContext(ctx).Info("children whose Cinder is gone", "cluster", tc.Name, "count", n, "first", orphans[0].Ref.String())
	}
	o.last[tc.Name] = len(orphans)
	o.counts.WithLabelValues(tc.Name).Set(float64(len(orphans)))
	return ctrl.Result{RequeueAfter: orphansPeriod}, nil
}

// counted lists the namespaces to look into; an empty one stands for all. A
// namespaced operator knows the Cinders of its own alone.
func (o *orphanCounter) counted(tc *v1alpha1.TargetCluster) []string {
	switch {
	case o.Namespace != "":
		return []string{o.Namespace}
	case len(tc.Status.Namespaces) > 0:
		return tc.Status.Namespaces
	}
	return []string{metav1.NamespaceAll}
}

// exists asks the cache first, and the API server before it says no: a cache
// that has not seen a new Cinder yet must not make orphans of its children.
func (o *orphanCounter) exists(ctx context.Context, kind, namespace, name string) (bool, error) {
	if kind != v1alpha1.KindCinder {
		// Nobody but a Cinder owns children of this hub: whatever this is, its
		// labels are somebody else's.
		return true, nil
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	err := o.hub.Get(ctx, key, &v1alpha1.Cinder{})
	if apierrors.IsNotFound(err) {
		err = o.live.Get(ctx, key, &v1alpha1.Cinder{})
	}
	return err == nil, client.IgnoreNotFound(err)
}
