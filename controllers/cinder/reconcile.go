// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/pipeline"
	"c5c3.io/cinder-operator/projection"
)

// Reconcile runs one pass over one Cinder.
func (r *Reconciler) Reconcile(ctx context.Context, req mcreconcile.Request) (ctrl.Result, error) {
	cr := &v1alpha1.Cinder{}
	if err := r.hub.Get(ctx, req.NamespacedName, cr); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get Cinder %s: %w", req.NamespacedName, err)
	}
	if !cr.DeletionTimestamp.IsZero() && len(heldBy(cr)) == 0 {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	target, err := r.resolve(ctx, cr)
	if isStarting(err) {
		// Nothing is known of the cluster yet, so nothing may be said of it: the
		// registry's next change brings this Cinder back.
		return ctrl.Result{}, nil
	}
	status := pipeline.Begin(cr, conditionsOf)
	p := &Pass{Cinder: cr, Target: target, stored: slices.Clone(cr.Status.Conditions), events: &eventBuffer{}}
	p.Facts.PullPolicy = r.DefaultImagePullPolicy
	if !cr.DeletionTimestamp.IsZero() {
		released, res, err := r.reconcileDelete(ctx, p, err)
		if released {
			return res, err
		}
		return r.finish(ctx, p, status, res, err)
	}
	res, err := r.reconcileNormal(ctx, p, err)
	return r.finish(ctx, p, status, res, err)
}

// reconcileNormal runs a pass of a Cinder that is to exist. resolveErr is the
// answer of the registry.
func (r *Reconciler) reconcileNormal(ctx context.Context, p *Pass, resolveErr error) (ctrl.Result, error) {
	if resolveErr != nil {
		// One gets here when the cluster is not registered, refused or lost. No
		// finalizer is acquired and no other condition touched: what they report
		// is simply not known now.
		if res, handled := r.onStepError(p, "", resolveErr); handled {
			return res, nil
		}
		return ctrl.Result{}, resolveErr
	}
	scope, err := r.Projector.Scope(p.Target, p.Cinder)
	if err != nil {
		// A name that no label can carry: no retry changes that.
		pipeline.Unknown(p.Conditions(), p.Cinder.Generation, v1alpha1.ConditionSecretsReady, v1alpha1.ReasonReconcileError, err.Error())
		return ctrl.Result{}, reconcile.TerminalError(err)
	}
	p.Scope = scope
	if len(heldBy(p.Cinder)) == 0 {
		if errs := validation.IsDNS1035Label(p.Cinder.Name); len(errs) > 0 {
			// The Service would be refused when everything before it stands.
			err := fmt.Errorf("metadata.name %q names a Service and cannot: %s", p.Cinder.Name, strings.Join(errs, "; "))
			pipeline.Unknown(p.Conditions(), p.Cinder.Generation, v1alpha1.ConditionSecretsReady, v1alpha1.ReasonReconcileError, err.Error())
			return ctrl.Result{}, reconcile.TerminalError(err)
		}
		// A Cinder whose namespace is absent on the target acquires no finalizer
		// either.
		if err := scope.CheckNamespace(ctx); err != nil {
			if res, handled := r.onStepError(p, "", err); handled {
				return res, nil
			}
			return ctrl.Result{}, err
		}
	}
	added, err := r.addFinalizers(ctx, p.Cinder)
	if err != nil {
		return ctrl.Result{}, err
	}
	if added {
		return ctrl.Result{RequeueAfter: r.Intervals.NextPass}, nil
	}
	if r.acceptCluster(ctx, p) {
		return ctrl.Result{RequeueAfter: r.Intervals.NextPass}, nil
	}
	return r.steps.Run(ctx, p)
}

// finish stores the outcome of a pass and tells of it.
func (r *Reconciler) finish(ctx context.Context, p *Pass, status *pipeline.Status, res ctrl.Result, err error) (ctrl.Result, error) {
	cr := p.Cinder
	cr.Status.ObservedGeneration = cr.Generation
	sub := v1alpha1.CinderSubConditions()
	pipeline.Pending(p.Conditions(), cr.Generation, sub...)
	pipeline.Aggregate(p.Conditions(), cr.Generation, v1alpha1.ConditionReady, sub, v1alpha1.ReasonAllReady, v1alpha1.ReasonNotAllReady)
	if writeErr := status.Write(ctx, r.hub, cr); writeErr != nil {
		if apierrors.IsConflict(writeErr) {
			// The pass ran over a copy that is no longer current; its newer
			// version is on its way through the watch.
			return ctrl.Result{RequeueAfter: r.Intervals.NextPass}, nil
		}
		return ctrl.Result{}, errors.Join(err, writeErr)
	}
	p.events.flush(r.Recorder, cr)
	r.metrics.observeConditions(cr)
	var stale *staleError
	if errors.As(err, &stale) {
		return ctrl.Result{RequeueAfter: r.Intervals.NextPass}, nil
	}
	return res, err
}

// staleError says that a patch of the Cinder itself was refused because the pass
// ran over an old copy: nothing failed, the pass is simply run again.
type staleError struct{ err error }

func (e *staleError) Error() string { return e.err.Error() }
func (e *staleError) Unwrap() error { return e.err }

// patchMeta changes metadata of the Cinder on the hub and takes over what makes
// the status write of the same pass valid. The working copy's status is left
// alone: the answer of the API server carries the stored one.
func (r *Reconciler) patchMeta(ctx context.Context, cr *v1alpha1.Cinder, what string, change func(client.Object)) error {
	changed := cr.DeepCopy()
	change(changed)
	patch := client.MergeFromWithOptions(cr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if err := r.hub.Patch(ctx, changed, patch); err != nil {
		err = fmt.Errorf("patch %s of Cinder %s/%s: %w", what, cr.Namespace, cr.Name, err)
		if apierrors.IsConflict(err) {
			return &staleError{err}
		}
		return err
	}
	cr.SetResourceVersion(changed.GetResourceVersion())
	cr.SetAnnotations(changed.GetAnnotations())
	cr.SetFinalizers(changed.GetFinalizers())
	return nil
}

// addFinalizers makes the Cinder carry what holds it until its children are
// gone, before the first of them is written.
func (r *Reconciler) addFinalizers(ctx context.Context, cr *v1alpha1.Cinder) (bool, error) {
	want := []string{v1alpha1.FinalizerCinder}
	if cr.Spec.TargetClusterRef != nil {
		want = append(want, v1alpha1.FinalizerRemoteChildren)
	}
	missing := slices.ContainsFunc(want, func(f string) bool { return !controllerutil.ContainsFinalizer(cr, f) })
	if !missing {
		return false, nil
	}
	err := r.patchMeta(ctx, cr, "finalizers", func(obj client.Object) {
		for _, f := range want {
			controllerutil.AddFinalizer(obj, f)
		}
	})
	return err == nil, err
}

// heldBy lists our finalizers on a Cinder.
func heldBy(cr *v1alpha1.Cinder) []string {
	var ours []string
	for _, f := range []string{v1alpha1.FinalizerCinder, v1alpha1.FinalizerRemoteChildren} {
		if controllerutil.ContainsFinalizer(cr, f) {
			ours = append(ours, f)
		}
	}
	return ours
}

// onStepError is asked of every step's error, and of the resolution's.
func (r *Reconciler) onStepError(p *Pass, step string, err error) (ctrl.Result, bool) {
	var stale *staleError
	if errors.As(err, &stale) || errors.Is(err, errPinned) {
		return ctrl.Result{RequeueAfter: r.Intervals.NextPass}, true
	}
	if step == stepDeployment && errors.Is(err, projection.ErrTerminating) {
		// The API came back before its predecessor was gone. The other workloads
		// report the same without ending the pass.
		p.setFalse(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonWaitingForDeployment, "%s", err)
		return ctrl.Result{RequeueAfter: r.Intervals.DeploymentPolling}, true
	}
	unavailable, ok := clusters.AsUnavailable(err)
	if !ok {
		return ctrl.Result{}, false
	}
	if isStarting(err) {
		return ctrl.Result{}, true
	}
	if r.replaced(p) {
		// The pass outlived its connection, for which another one stands ready:
		// the cluster was never away.
		return ctrl.Result{RequeueAfter: r.Intervals.NextPass}, true
	}
	p.setFalse(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTargetClusterUnavailable, "%s", unavailable.Message)
	return ctrl.Result{RequeueAfter: r.Intervals.SecretPolling}, true
}

// conditionReason is the reason of a condition, or empty.
func conditionReason(conds []metav1.Condition, typ string) string {
	for _, c := range conds {
		if c.Type == typ {
			return c.Reason
		}
	}
	return ""
}

// answered tells whether a condition, as the pass found it, answers its step's
// question: an error that ended a step is no answer, and neither is nothing yet.
func (p *Pass) answered(typ string) bool {
	switch conditionReason(p.stored, typ) {
	case "", v1alpha1.ReasonPending, v1alpha1.ReasonReconcileError:
		return false
	}
	return true
}
