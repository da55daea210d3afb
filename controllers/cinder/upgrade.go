// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// jobPhase is a phase of an upgrade that is one Job.
type jobPhase struct {
	// does says what the Job is for, in messages.
	does   string
	render func(c *v1alpha1.Cinder, f render.Facts, installed, target string) *batchv1.Job
	// inProgress and failed are reasons; failed is the event's as well.
	inProgress, failed string
	done               func(r *Reconciler, ctx context.Context, p *Pass) (ctrl.Result, error)
}

// jobPhases are the phases that are a Job. RollingUpdate has none: the steps
// that follow do its work.
var jobPhases = map[v1alpha1.UpgradePhase]jobPhase{
	v1alpha1.UpgradePhaseExpanding: {
		does: "expands the schema", render: workload.DBExpand,
		inProgress: v1alpha1.ReasonExpandInProgress, failed: v1alpha1.ReasonExpandFailed,
		done: (*Reconciler).expanded,
	},
	v1alpha1.UpgradePhaseMigrating: {
		does: "checks the readiness for the upgrade", render: workload.DBMigrate,
		inProgress: v1alpha1.ReasonMigrateInProgress, failed: v1alpha1.ReasonMigrateFailed,
		done: (*Reconciler).migrated,
	},
	v1alpha1.UpgradePhaseContracting: {
		does: "migrates the data that the rollout made safe to migrate", render: workload.DBContract,
		inProgress: v1alpha1.ReasonContractInProgress, failed: v1alpha1.ReasonContractFailed,
		done: (*Reconciler).contracted,
	},
}

func upgradeStateOf(cr *v1alpha1.Cinder) upgradeState {
	return upgradeState{
		installed: cr.Status.InstalledRelease, wanted: cr.Spec.OpenStackRelease,
		phase: cr.Status.UpgradePhase, target: cr.Status.TargetRelease,
		mismatch: releaseMismatch(cr.Spec.Image, cr.Spec.OpenStackRelease),
	}
}

// holdUpgrade reports what the spec has to change. Each such answer but a
// mismatched image is told once, when it is first given.
func (r *Reconciler) holdUpgrade(p *Pass, d decision) ctrl.Result {
	typ := v1alpha1.ConditionDatabaseReady
	p.setFalse(typ, d.reason, "%s", d.message)
	if d.reason != v1alpha1.ReasonImageReleaseMismatch && p.changed(typ) {
		p.warning(d.reason, d.message)
	}
	return r.upgradeWait()
}

// startUpgrade enters the first phase. The pass ends here, before anything is
// done for it: once a Job runs, the status must know that there is something to
// abort.
func (r *Reconciler) startUpgrade(p *Pass) ctrl.Result {
	status := &p.Cinder.Status
	status.UpgradePhase, status.TargetRelease = v1alpha1.UpgradePhaseExpanding, p.Cinder.Spec.OpenStackRelease
	p.setFalse(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonExpandInProgress, "%s begins", upgradeOf(p))
	p.normal(EventUpgradeInitiated, upgradeOf(p)+" begins")
	return r.upgradeWait()
}

// runUpgrade goes on with the phase that the status names.
func (r *Reconciler) runUpgrade(ctx context.Context, p *Pass) (ctrl.Result, error) {
	phase, ok := jobPhases[p.Cinder.Status.UpgradePhase]
	if !ok {
		return r.rollUpgrade(ctx, p)
	}
	status, typ := &p.Cinder.Status, v1alpha1.ConditionDatabaseReady
	job, err := ensureJob(ctx, p, phase.render(p.Cinder, p.Facts.Facts, status.InstalledRelease, status.TargetRelease))
	if err != nil {
		return ctrl.Result{}, err
	}
	if job == nil {
		p.setFalse(typ, phase.inProgress, "waiting for a Job that was started from an earlier configuration or image")
		return r.upgradeWait(), nil
	}
	outcome, message, _ := outcomeOf(job)
	switch outcome {
	case jobSucceeded:
		return phase.done(r, ctx, p)
	case jobFailed:
		p.setFalse(typ, phase.failed, "Job %s failed (%s); delete it to retry once the cause is understood, or set spec.openStackRelease to %s to abort",
			job.Name, message, status.InstalledRelease)
		if p.changed(typ) {
			p.warning(phase.failed, fmt.Sprintf("%s: Job %s failed: %s", upgradeOf(p), job.Name, message))
		}
	default:
		p.setFalse(typ, phase.inProgress, "%s: Job %s %s", upgradeOf(p), job.Name, phase.does)
	}
	return r.upgradeWait(), nil
}

func (r *Reconciler) expanded(_ context.Context, p *Pass) (ctrl.Result, error) {
	p.Cinder.Status.UpgradePhase = v1alpha1.UpgradePhaseMigrating
	p.setFalse(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonMigrateInProgress, "%s: the schema is expanded", upgradeOf(p))
	p.normal(EventExpandComplete, upgradeOf(p)+": the schema is expanded")
	return r.upgradeWait(), nil
}

func (r *Reconciler) migrated(ctx context.Context, p *Pass) (ctrl.Result, error) {
	p.Cinder.Status.UpgradePhase = v1alpha1.UpgradePhaseRollingUpdate
	p.normal(EventMigrateComplete, upgradeOf(p)+": the upgrade check has run, the workloads roll now")
	return r.rollUpgrade(ctx, p)
}

// rollUpgrade lets the steps that follow roll the workloads: it returns zero,
// for a requeue here would stop the roll that it waits for.
func (r *Reconciler) rollUpgrade(ctx context.Context, p *Pass) (ctrl.Result, error) {
	if err := r.tellUpgradeCheck(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	p.setFalse(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonUpgradeRollingUpdate,
		"%s: the workloads roll, one after the other; their own conditions say how far they are", upgradeOf(p))
	return ctrl.Result{}, nil
}

// contracted promotes the release. What follows from it, the migration of the
// steady state and the second roll, begins once the promotion is stored.
func (r *Reconciler) contracted(_ context.Context, p *Pass) (ctrl.Result, error) {
	p.normal(EventUpgradeComplete, upgradeOf(p)+" is complete")
	status := &p.Cinder.Status
	status.InstalledRelease = status.TargetRelease
	status.UpgradePhase, status.TargetRelease = "", ""
	p.Facts.InstalledRelease = status.InstalledRelease
	p.setFalse(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDBSyncInProgress,
		"release %s is installed; its schema migration runs once more", status.InstalledRelease)
	return r.upgradeWait(), nil
}

// abortUpgrade takes the phase Jobs down and forgets the upgrade. The workloads
// go back to the installed release in the passes that follow.
func (r *Reconciler) abortUpgrade(ctx context.Context, p *Pass) (ctrl.Result, error) {
	name := p.Cinder.Name
	for _, job := range []string{render.DBExpandName(name), render.DBMigrateName(name), render.DBContractName(name)} {
		obj := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: job, Namespace: p.Cinder.Namespace}}
		if _, err := p.Scope.Delete(ctx, obj, metav1.DeletePropagationBackground); err != nil {
			return ctrl.Result{}, err
		}
	}
	p.normal(EventUpgradeAborted, fmt.Sprintf("%s was aborted in phase %s", upgradeOf(p), p.Cinder.Status.UpgradePhase))
	p.Cinder.Status.UpgradePhase, p.Cinder.Status.TargetRelease = "", ""
	p.setFalse(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDBSyncInProgress,
		"the upgrade was aborted; release %s stays installed", p.Cinder.Status.InstalledRelease)
	return r.upgradeWait(), nil
}

func (r *Reconciler) upgradeWait() ctrl.Result {
	return ctrl.Result{RequeueAfter: r.Intervals.UpgradeWait}
}

// upgradeOf names the running upgrade in messages.
func upgradeOf(p *Pass) string {
	return fmt.Sprintf("upgrade from %s to %s", p.Cinder.Status.InstalledRelease, p.Cinder.Status.TargetRelease)
}
