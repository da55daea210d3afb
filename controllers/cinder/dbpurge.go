// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"cmp"
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

const (
	suffixDBPurge = "db-purge"
	// annotationPurgeEnd remembers when the last run that was told of ended: once
	// it is deleted, the newest that is left is an older one.
	annotationPurgeEnd = "cinder.c5c3.io/last-" + suffixDBPurge + "-job-end"
)

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
		if tell, err = r.tellPurge(ctx, p, run, at); err != nil {
			return ctrl.Result{}, err
		}
		if tell {
			r.metrics.dbPurge.count(p, run, outcome, at)
		}
	}
	r.reportDBPurge(p, cron, run, tell)
	return ctrl.Result{}, nil
}

// tellPurge says whether the end of a run is still to be told. Once a later run
// was told and is deleted, the one before it is the newest again.
func (r *Reconciler) tellPurge(ctx context.Context, p *Pass, run *batchv1.Job, at time.Time) (bool, error) {
	key := lastJobAnnotation(suffixDBPurge)
	if p.Cinder.Annotations[key] == string(run.UID) {
		return false, nil
	}
	told, err := time.Parse(time.RFC3339, p.Cinder.Annotations[annotationPurgeEnd])
	if err == nil && !at.After(told) {
		return false, nil
	}
	end := map[string]string{annotationPurgeEnd: at.UTC().Format(time.RFC3339)}
	return r.remember(ctx, p, key, end, deferral{"DBPurge" + eventSuffixEmissionDeferred, toldLater}, run)
}

// reportDBPurge sets DBPurgeReady. The CronJob knows of later successes whose
// Jobs are gone.
func (r *Reconciler) reportDBPurge(p *Pass, cron *batchv1.CronJob, run *batchv1.Job, tell bool) {
	typ, settings := v1alpha1.ConditionDBPurgeReady, p.Cinder.Spec.EffectiveDBPurge()
	failed, healed, message := false, false, ""
	if run != nil {
		var outcome jobOutcome
		var at time.Time
		outcome, message, at = outcomeOf(run)
		failed = outcome == jobFailed
		healed = cron.Status.LastSuccessfulTime != nil && at.Before(cron.Status.LastSuccessfulTime.Time)
	}
	if failed && tell {
		r.tellNow(p, corev1.EventTypeWarning, EventDBPurgeJobFailed, "Job %s failed: %s", run.Name, message)
	}
	switch {
	case settings.Suspend:
		p.setTrue(typ, v1alpha1.ReasonDBPurgeSuspended, "the purge is suspended by spec.dbPurge.suspend")
	case failed && !healed:
		p.setFalse(typ, v1alpha1.ReasonDBPurgeJobFailed, "Job %s failed: %s", run.Name, message)
	default:
		p.setTrue(typ, v1alpha1.ReasonDBPurgeScheduled,
			fmt.Sprintf("rows deleted %d days ago are purged at %q", settings.RetentionDays, settings.Schedule))
	}
}

// newestRun is the latest ended Job of this CronJob: by its UID, so that neither
// a run of an earlier CronJob nor another Job of the Cinder is taken for one. Of
// runs that nothing else tells apart it is always the same.
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
		if newest == nil || later(job, newest, at.Compare(newestAt)) {
			newest, newestAt = job, at
		}
	}
	return newest
}

// later orders two runs by their ends, which were compared already, by when they
// were made, and by their UIDs.
func later(a, b *batchv1.Job, ends int) bool {
	return cmp.Or(ends, a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID)) > 0
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
