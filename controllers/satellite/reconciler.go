// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/pipeline"
)

const (
	// requeueSecretPolling is the interval of every wait of a satellite: for its
	// parent, the target cluster, a key Secret and the projection. Each of them
	// also has a watch; the poll is what remains when one of those is lost.
	requeueSecretPolling = 15 * time.Second

	// retryBase is the first wait after an error.
	retryBase = 500 * time.Millisecond

	// requeueConflict is the wait after a pass that worked on a stale copy.
	requeueConflict = time.Second
)

// reconciler observes the objects of one satellite kind.
type reconciler struct {
	Options
	kind kind
}

// Reconcile makes one pass over one satellite.
func (r *reconciler) Reconcile(ctx context.Context, req mcreconcile.Request) (ctrl.Result, error) {
	obj := r.kind.object()
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", r.kind.name, req.NamespacedName, err)
	}
	s := r.kind.read(obj)
	status := pipeline.Begin(obj, func(o client.Object) *[]metav1.Condition { return r.kind.read(o).conditions })

	var (
		out outcome
		err error
	)
	if obj.GetDeletionTimestamp().IsZero() {
		out, err = r.observe(ctx, s)
	} else {
		out, err = r.detach(ctx, s)
	}
	if apierrors.IsConflict(err) {
		// A patch of metadata was computed from a copy that is not current any more.
		return ctrl.Result{RequeueAfter: requeueConflict}, nil
	}
	if out.silent {
		return ctrl.Result{}, err
	}
	if werr := status.Write(ctx, r.Client, obj); werr != nil {
		if err == nil && apierrors.IsConflict(werr) {
			return ctrl.Result{RequeueAfter: requeueConflict}, nil
		}
		if err == nil {
			err = werr
		}
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if out.polled {
		return ctrl.Result{RequeueAfter: cmp.Or(r.Poll, requeueSecretPolling)}, nil
	}
	return ctrl.Result{}, nil
}

// outcome is how a pass ended: whether another one is due within the interval,
// and whether the status is left alone.
type outcome struct {
	polled bool
	silent bool
}

var poll = outcome{polled: true}

// observe answers the two questions in their order. A question that is not
// reached keeps the answer it had.
func (r *reconciler) observe(ctx context.Context, s satellite) (outcome, error) {
	parent := &v1alpha1.Cinder{}
	key := types.NamespacedName{Namespace: s.GetNamespace(), Name: s.cinder}
	if err := r.Client.Get(ctx, key, parent); err != nil {
		if !apierrors.IsNotFound(err) {
			return outcome{}, fmt.Errorf("read Cinder %s: %w", key, err)
		}
		s.set(v1alpha1.ConditionCredentialsReady, waitingForParent(key))
		s.set(v1alpha1.ConditionConfigProjected, waitingForProjection("Cinder %s does not exist", key))
		s.conclude()
		return poll, nil
	}

	target, err := r.Registry.Resolve(ctx, parent.Spec.TargetClusterRef, s.GetNamespace())
	if err != nil {
		return r.failed(s, v1alpha1.ConditionCredentialsReady, err)
	}
	if other, ok := heldElsewhere(parent, target); ok {
		s.set(v1alpha1.ConditionCredentialsReady, other)
		s.conclude()
		return poll, nil
	}
	creds, cephKey, err := credentials(ctx, target, s)
	if err != nil {
		return r.failed(s, v1alpha1.ConditionCredentialsReady, err)
	}
	if creds.passes() {
		// The parent renders the satellite as soon as it reads True, and what is
		// rendered has to be unregistered: so the finalizer comes first.
		if err := r.hold(ctx, s); err != nil {
			return outcome{}, err
		}
	}
	s.set(v1alpha1.ConditionCredentialsReady, creds)
	if !creds.passes() {
		s.conclude()
		return poll, nil
	}

	projected, err := r.projected(ctx, target, parent, s, cephKey)
	if err != nil {
		return r.failed(s, v1alpha1.ConditionConfigProjected, err)
	}
	s.set(v1alpha1.ConditionConfigProjected, projected)
	s.conclude()
	// A key Secret is polled also while all is well: its loss must be seen
	// within one interval wherever a watch of it fails.
	if projected.passes() && !s.rbd {
		return outcome{}, nil
	}
	return poll, nil
}

// failed ends a pass whose question about condition could not be answered. A
// cluster that does not serve is reported as such; while the registry is still
// starting nothing is written at all, so that a restart of the operator does not
// pass over a healthy fleet. Any other failed read is no answer: it leaves
// CredentialsReady alone, because the parent acts on it, and makes
// ConfigProjected unknown.
func (r *reconciler) failed(s satellite, condition string, err error) (outcome, error) {
	if unavailable, ok := clusters.AsUnavailable(err); ok {
		if unavailable.Cause == clusters.CauseStarting {
			return outcome{silent: true}, nil
		}
		s.set(v1alpha1.ConditionCredentialsReady, verdict{
			metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable, unavailable.Error(),
		})
		s.conclude()
		return poll, nil
	}
	if condition == v1alpha1.ConditionConfigProjected {
		s.set(condition, verdict{metav1.ConditionUnknown, pipeline.ReasonReconcileError, err.Error()})
	}
	s.conclude()
	return outcome{}, err
}

func waitingForParent(key types.NamespacedName) verdict {
	return verdict{
		metav1.ConditionFalse, v1alpha1.ReasonWaitingForParent,
		fmt.Sprintf("Cinder %s does not exist, so the cluster its services run on is unknown", key),
	}
}

// heldElsewhere tells whether another cluster stands behind the name of the one
// that holds the parent's children. The parent is held then, and what its
// satellites would find there says nothing about them.
func heldElsewhere(parent *v1alpha1.Cinder, target clusters.Target) (verdict, bool) {
	known := parent.Status.TargetCluster
	if target.IsHub() || known == nil || known.UID == "" || clusters.SameCluster(target, types.UID(known.UID)) ||
		parent.Annotations[v1alpha1.AnnotationAcceptCluster] == string(target.UID()) {
		return verdict{}, false
	}
	return verdict{
		metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable,
		fmt.Sprintf("target cluster %q is another cluster than the one that holds the children of Cinder %s: its kube-system UID is %s, the children's is %s",
			target.Name(), parent.Name, target.UID(), known.UID),
	}, true
}

// set sets one condition from a verdict.
func (s satellite) set(condition string, v verdict) {
	pipeline.SetCondition(s.conditions, s.GetGeneration(), condition, v.status, v.reason, v.message)
}

// conclude aggregates Ready and records which spec the pass was over.
func (s satellite) conclude() {
	sub := v1alpha1.SatelliteSubConditions()
	pipeline.Pending(s.conditions, s.GetGeneration(), sub...)
	pipeline.Aggregate(s.conditions, s.GetGeneration(), v1alpha1.ConditionReady, sub, v1alpha1.ReasonAllReady, v1alpha1.ReasonNotAllReady)
	*s.observed = s.GetGeneration()
}
