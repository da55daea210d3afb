// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/workload"
)

const suffixDBSync = "db-sync"

// reconcileDatabase migrates the schema, walks the phases of an upgrade, and
// promotes the installed release. Whenever it returns a requeue the lane ends
// here, so that the workloads stay on the release that they have.
func (r *Reconciler) reconcileDatabase(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionDatabaseReady
	p.Facts.InstalledRelease = p.Cinder.Status.InstalledRelease
	if res, err := r.provisionDatabase(ctx, p); err != nil || !res.IsZero() {
		return res, err
	}
	wait := ctrl.Result{RequeueAfter: r.Intervals.DatabaseWait}
	if p.Facts.ConfigMapName == "" {
		// The Jobs mount the config as their whole config directory: a volume
		// with an empty name would be refused.
		p.setFalse(typ, v1alpha1.ReasonWaitingForConfig, "no configuration is rendered yet; SecretsReady says why")
		return wait, nil
	}
	switch d := next(upgradeStateOf(p.Cinder)); d.move {
	case moveHold:
		return r.holdUpgrade(p, d), nil
	case moveStart:
		return r.startUpgrade(p), nil
	case moveRun:
		return r.runUpgrade(ctx, p)
	case moveAbort:
		return r.abortUpgrade(ctx, p)
	}
	return r.syncDatabase(ctx, p)
}

// syncDatabase runs the one Job of the steady state.
func (r *Reconciler) syncDatabase(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionDatabaseReady
	wait := ctrl.Result{RequeueAfter: r.Intervals.DatabaseWait}
	job, err := ensureJob(ctx, p, workload.DBSync(p.Cinder, p.Facts.Facts))
	if err != nil {
		return ctrl.Result{}, err
	}
	if job == nil {
		p.setFalse(typ, v1alpha1.ReasonDBSyncInProgress, "waiting for a schema migration that was started from an earlier configuration or image")
		return wait, nil
	}
	outcome, message, at := outcomeOf(job)
	if outcome == jobRunning {
		p.setFalse(typ, v1alpha1.ReasonDBSyncInProgress, "%s", progressOf(job, "migrates the schema", p.Target.String()))
		return wait, nil
	}
	tell, err := r.tellOnce(ctx, p, suffixDBSync, deferral{"DBSync" + eventSuffixEmissionDeferred, toldLater}, job)
	if err != nil {
		return ctrl.Result{}, err
	}
	if tell {
		r.metrics.dbSync.count(p, job, outcome, at)
	}
	if outcome == jobFailed {
		p.setFalse(typ, v1alpha1.ReasonDBSyncFailed, "Job %s failed (%s); delete it to retry once the cause is understood", job.Name, message)
		if tell {
			r.tellNow(p, corev1.EventTypeWarning, EventDBSyncFailed, "Job %s failed: %s", job.Name, message)
		}
		return wait, nil
	}
	p.Cinder.Status.InstalledRelease = p.Cinder.Spec.OpenStackRelease
	p.Cinder.Status.UpgradePhase, p.Cinder.Status.TargetRelease = "", ""
	p.Facts.InstalledRelease = p.Cinder.Status.InstalledRelease
	p.setTrue(typ, v1alpha1.ReasonDatabaseSynced, fmt.Sprintf("the schema is at release %s", p.Facts.InstalledRelease))
	if tell {
		r.tellNow(p, corev1.EventTypeNormal, EventDatabaseSynced, "Job %s brought the schema to release %s", job.Name, p.Facts.InstalledRelease)
	}
	return ctrl.Result{}, nil
}

// releaseTag is a tag that starts with a release: a patch suffix may follow it.
var releaseTag = regexp.MustCompile(`^(\d{4}\.[12])(?:[^0-9].*)?$`)

// releaseMismatch compares a tag-pinned image with the declared release. A digest
// and a tag without a release say nothing that could disagree.
func releaseMismatch(image v1alpha1.ImageSpec, release string) string {
	if image.Digest != "" {
		return ""
	}
	m := releaseTag.FindStringSubmatch(image.Tag)
	if len(m) < 2 || m[1] == release {
		return ""
	}
	return fmt.Sprintf("spec.image.tag %q is of release %s, spec.openStackRelease says %s: set both to one release", image.Tag, m[1], release)
}
