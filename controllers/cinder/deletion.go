// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/internal/render"
)

// reconcileDelete takes a deleted Cinder's children down and lets go of it. The
// first result tells that the finalizers are gone, after which there is no status
// left to write.
func (r *Reconciler) reconcileDelete(ctx context.Context, p *Pass, resolveErr error) (released bool, res ctrl.Result, err error) {
	if resolveErr != nil {
		return r.holdOrAbandon(ctx, p, resolveErr)
	}
	if !p.Target.IsHub() {
		// On the hub the owner references do this.
		scope, err := r.Projector.Scope(p.Target, p.Cinder)
		if err != nil {
			return false, ctrl.Result{}, err
		}
		// What the sweep leaves waits for finalizers that are not ours, as it
		// would after a cascade on the hub.
		if _, err := scope.Sweep(ctx); err != nil {
			if res, handled := r.onStepError(p, "", err); handled {
				return false, res, nil
			}
			return false, ctrl.Result{}, fmt.Errorf("sweep the children of Cinder %s/%s on %s: %w", p.Cinder.Namespace, p.Cinder.Name, p.Target, err)
		}
	}
	if err := r.release(ctx, p.Cinder); err != nil {
		return false, ctrl.Result{}, err
	}
	record(r.Recorder, p.Cinder, corev1.EventTypeNormal, EventDatabaseFinalized, databaseFinalizedNote(p.Cinder))
	return true, ctrl.Result{}, nil
}

func databaseFinalizedNote(cr *v1alpha1.Cinder) string {
	if cr.Spec.Database.ClusterRef == nil {
		return "the finalizer is released; the database is not managed by this operator and stays as it is"
	}
	return "the finalizer is released; no MariaDB resource of this Cinder remains"
}

// holdOrAbandon decides about a deleted Cinder whose children cannot be reached.
// A cluster that is merely lost is waited for, a deregistered one for two
// windows; the annotation ends either at once.
func (r *Reconciler) holdOrAbandon(ctx context.Context, p *Pass, resolveErr error) (bool, ctrl.Result, error) {
	unavailable, ok := clusters.AsUnavailable(resolveErr)
	if !ok {
		return false, ctrl.Result{}, resolveErr
	}
	abandon, message := r.verdict(p.Cinder, unavailable, r.now())
	if !abandon {
		p.setFalse(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTargetClusterUnavailable, "%s", message)
		return false, ctrl.Result{RequeueAfter: r.Intervals.SecretPolling}, nil
	}
	if err := r.release(ctx, p.Cinder); err != nil {
		return false, ctrl.Result{}, err
	}
	note := abandonedNote(p.Cinder, fmt.Sprintf("target cluster %q", unavailable.Cluster))
	log.FromContext(ctx).Info("children abandoned", "children", childNames(p.Cinder), "namespace", p.Cinder.Namespace, "cluster", unavailable.Cluster)
	record(r.Recorder, p.Cinder, corev1.EventTypeWarning, EventRemoteChildrenAbandoned, note)
	return true, ctrl.Result{}, nil
}

// verdict is the pure part of holdOrAbandon.
func (r *Reconciler) verdict(cr *v1alpha1.Cinder, u *clusters.UnavailableError, now time.Time) (abandon bool, message string) {
	if cr.Annotations[v1alpha1.AnnotationAbandonChildren] == "true" {
		return true, ""
	}
	hint := fmt.Sprintf("annotate the Cinder with %s=true to give the children up", v1alpha1.AnnotationAbandonChildren)
	if u.Cause != clusters.CauseNotRegistered {
		return false, fmt.Sprintf("deletion waits: %s; %s", u.Message, hint)
	}
	missing := r.missing.first(u.Cluster, now)
	deleted := cr.DeletionTimestamp.Time
	if now.Sub(missing) >= r.AbandonAfter && now.Sub(deleted) >= r.AbandonAfter {
		return true, ""
	}
	return false, fmt.Sprintf("deletion waits: %s; the children are given up when the cluster stays away for %s, or %s", u.Message, r.AbandonAfter, hint)
}

// release removes our finalizers and everything remembered of the Cinder.
func (r *Reconciler) release(ctx context.Context, cr *v1alpha1.Cinder) error {
	err := r.patchMeta(ctx, cr, "finalizers", func(obj client.Object) {
		for _, f := range heldBy(cr) {
			controllerutil.RemoveFinalizer(obj, f)
		}
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	r.Projector.Forget(cr.UID)
	r.forget(client.ObjectKeyFromObject(cr))
	return nil
}

// forget drops the metrics and the cached probe of a Cinder that is gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.metrics.forget(key)
	r.probes.evict(key)
}

// abandonedNote names what stays behind.
func abandonedNote(cr *v1alpha1.Cinder, where string) string {
	return listNote(fmt.Sprintf("children in namespace %s stay behind on %s:", cr.Namespace, where), childNames(cr))
}

// childNames lists the children as far as they are known without their cluster.
func childNames(cr *v1alpha1.Cinder) []string {
	names := []string{
		"Deployment " + cr.Name,
		"Deployment " + render.SchedulerName(cr.Name),
	}
	for _, v := range cr.Status.VolumeServices {
		names = append(names, "Deployment "+render.VolumeName(cr.Name, v.Backend))
	}
	return append(names,
		"Deployment "+render.BackupName(cr.Name),
		"Service "+cr.Name,
		"PodDisruptionBudget "+cr.Name,
		"NetworkPolicy "+cr.Name,
		"CronJob "+render.DBPurgeName(cr.Name),
		"Job "+render.DBSyncName(cr.Name),
		"Secret "+render.DBConnectionName(cr.Name),
		"Secret "+render.TransportURLName(cr.Name),
		"Secret "+render.ServiceUserName(cr.Name),
		"the revisions of Secrets "+render.BackendBase(cr.Name, "*")+" and "+render.BackupBase(cr.Name, "*"),
		"the revisions of ConfigMap "+render.ConfigBase(cr.Name),
	)
}
