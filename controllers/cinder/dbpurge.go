// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/workload"
)

const suffixDBPurge = "db-purge"

// reconcileDBPurge projects the CronJob and reports the newest run of it that
// ended.
func (r *Reconciler) reconcileDBPurge(ctx context.Context, p *Pass) (ctrl.Result, error) {
	cron, err := apply(ctx, p, workload.DBPurge(p.Cinder, p.Facts.Facts))
	if err != nil {
		return ctrl.Result{}, err
	}
	var jobs batchv1.JobList
	if err := p.Scope.List(ctx, &jobs, render.CommonLabels(p.Cinder.Name)); err != nil {
		return ctrl.Result{}, err
	}
	run := newestRun(jobs.Items, cron)
	tell := false
	if run != nil {
		outcome, _, at := outcomeOf(run)
		if tell, err = r.tellOnce(ctx, p, suffixDBPurge, "DBPurge"+eventSuffixEmissionDeferred, run); err != nil {
			return ctrl.Result{}, err
		}
		if tell {
			r.metrics.dbPurge.count(p, run, outcome, at)
		}
	}
	r.reportDBPurge(p, run, tell)
	return ctrl.Result{}, nil
}

func (r *Reconciler) reportDBPurge(p *Pass, run *batchv1.Job, tell bool) {
	typ, settings := v1alpha1.ConditionDBPurgeReady, p.Cinder.Spec.EffectiveDBPurge()
	failed, message := false, ""
	if run != nil {
		var outcome jobOutcome
		outcome, message, _ = outcomeOf(run)
		failed = outcome == jobFailed
	}
	if failed && tell {
		r.tellNow(p, corev1.EventTypeWarning, EventDBPurgeJobFailed, "Job %s failed: %s", run.Name, message)
	}
	switch {
	case settings.Suspend:
		p.setTrue(typ, v1alpha1.ReasonDBPurgeSuspended, "the purge is suspended by spec.dbPurge.suspend")
	case failed:
		p.setFalse(typ, v1alpha1.ReasonDBPurgeJobFailed, "Job %s failed: %s", run.Name, message)
	default:
		p.setTrue(typ, v1alpha1.ReasonDBPurgeScheduled,
			fmt.Sprintf("rows deleted %d days ago are purged at %q", settings.RetentionDays, settings.Schedule))
	}
}

// newestRun is the latest ended Job of this CronJob: by its UID, so that neither
// a run of an earlier CronJob nor another Job of the Cinder is taken for one.
func newestRun(jobs []batchv1.Job, cron *batchv1.CronJob) *batchv1.Job {
	var newest *batchv1.Job
	var newestAt time.Time
	for i := range jobs {
		job := &jobs[i]
		if !ownedBy(job, cron) {
			continue
		}
		outcome, _, at := outcomeOf(job)
		if outcome == jobRunning {
			continue
		}
		if newest == nil || at.After(newestAt) || at.Equal(newestAt) && newest.CreationTimestamp.Before(&job.CreationTimestamp) {
			newest, newestAt = job, at
		}
	}
	return newest
}

// ownedBy takes any owner reference: a run started by hand is one as well.
func ownedBy(job *batchv1.Job, cron *batchv1.CronJob) bool {
	for _, ref := range job.OwnerReferences {
		if ref.UID == cron.UID {
			return true
		}
	}
	return false
}
