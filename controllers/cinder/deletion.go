// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/pipeline"
	"c5c3.io/cinder-operator/projection"
)

// reconcileDelete takes a deleted Cinder's children down and lets go of it. The
// first result tells that the finalizers are gone, after which there is no status
// left to write.
func (r *Reconciler) reconcileDelete(ctx context.Context, p *Pass, resolveErr error) (released bool, res ctrl.Result, err error) {
	why := resolveErr
	var held []string
	if why == nil {
		held, why = r.finalizeDatabase(ctx, p)
	}
	if why == nil && len(held) > 0 && !givenUp(p.Cinder) {
		return false, ctrl.Result{RequeueAfter: r.Intervals.DatabaseWait}, nil
	}
	if why == nil && !p.Target.IsHub() {
		// On the hub the owner references do this.
		why = r.sweep(ctx, p)
	}
	_, away := clusters.AsUnavailable(why)
	switch {
	case isStarting(why):
		return false, ctrl.Result{}, nil
	case away && r.replaced(p):
		// The sweep outlived its connection, for which another one stands ready.
		return false, ctrl.Result{RequeueAfter: r.Intervals.NextPass}, nil
	}
	pl := r.plightOf(p, why)
	pl.held = held
	v := judge(pl)
	switch {
	case v.release:
		return r.letGo(ctx, p, v)
	case away:
		p.setFalse(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTargetClusterUnavailable, "%s", v.message)
		return false, ctrl.Result{RequeueAfter: r.Intervals.SecretPolling}, nil
	}
	// One gets here when the cluster answers and refuses: a right is missing, or
	// an admission webhook objects.
	pipeline.Unknown(p.Conditions(), p.Cinder.Generation, v1alpha1.ConditionSecretsReady, v1alpha1.ReasonReconcileError, v.message)
	if errors.Is(why, projection.ErrBusy) || errors.Is(why, projection.ErrEndless) {
		// The next attempt takes as long as this one: it is retried neither at once nor ever more rarely.
		return false, ctrl.Result{RequeueAfter: r.Intervals.SecretPolling}, nil
	}
	return false, ctrl.Result{}, why
}

// letGo releases the Cinder and tells how it ended.
func (r *Reconciler) letGo(ctx context.Context, p *Pass, v verdict) (bool, ctrl.Result, error) {
	held, err := r.release(ctx, p.Cinder)
	switch {
	case err != nil:
		return false, ctrl.Result{}, err
	case !held:
		// A pass over a copy from before the last one, which said everything.
		return true, ctrl.Result{}, nil
	}
	// No status is stored anymore that they could wait for.
	p.events.flush(r.Recorder, p.Cinder)
	if v.left != "" {
		record(r.Recorder, p.Cinder, corev1.EventTypeWarning, EventRemoteChildrenAbandoned, r.abandoned(ctx, p.Cinder, v))
		return true, ctrl.Result{}, nil
	}
	record(r.Recorder, p.Cinder, corev1.EventTypeNormal, EventDatabaseFinalized, databaseFinalizedNote(p.Cinder))
	return true, ctrl.Result{}, nil
}

// givenUp tells whether somebody gave the children of a Cinder up by annotation.
func givenUp(cr *v1alpha1.Cinder) bool {
	return cr.Annotations[v1alpha1.AnnotationAbandonChildren] == "true"
}

func (r *Reconciler) plightOf(p *Pass, why error) plight {
	cr, now := p.Cinder, r.now()
	pl := plight{
		err:        why,
		cluster:    clusterName(cr),
		givenUp:    givenUp(cr),
		deletedFor: now.Sub(cr.DeletionTimestamp.Time),
		missingFor: r.missing.age(clusterName(cr), now),
		window:     r.AbandonAfter,
	}
	switch {
	case isAnotherCluster(why):
		pl.elsewhere = cr.Status.TargetCluster
	case p.Target != nil:
		pl.elsewhere = p.formerCluster()
	}
	return pl
}

// sweep deletes the children on the target. What it leaves waits for finalizers
// that are not ours, as it would after a cascade on the hub.
func (r *Reconciler) sweep(ctx context.Context, p *Pass) error {
	scope, err := r.Projector.Scope(p.Target, p.Cinder)
	if err != nil {
		return err
	}
	if _, err := scope.Sweep(ctx); err != nil {
		return fmt.Errorf("sweep the children of Cinder %s/%s on %s: %w", p.Cinder.Namespace, p.Cinder.Name, p.Target, err)
	}
	return nil
}

func databaseFinalizedNote(cr *v1alpha1.Cinder) string {
	if cr.Spec.Database.ClusterRef == nil {
		return "the finalizer is released; the database is not managed by this operator and stays as it is"
	}
	return "the finalizer is released; no MariaDB resource of this Cinder remains"
}

// release removes our finalizers and everything remembered of the Cinder. It
// tells whether they held it: a Cinder that is gone was released before.
func (r *Reconciler) release(ctx context.Context, cr *v1alpha1.Cinder) (held bool, err error) {
	err = r.patchMeta(ctx, cr, "finalizers", func(obj client.Object) {
		for _, f := range heldBy(cr) {
			controllerutil.RemoveFinalizer(obj, f)
		}
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	r.Projector.Forget(cr.UID)
	r.forget(client.ObjectKeyFromObject(cr))
	return err == nil, nil
}

// forget drops the metrics and everything remembered of a Cinder that is gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.metrics.forget(key)
	r.probes.evict(key)
	r.bus.forget(key)
	r.told.forget(key)
	r.deferred.forget(key)
}
