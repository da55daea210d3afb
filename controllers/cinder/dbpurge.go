// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/workload"
)

const (
	suffixDBPurge = "db-purge"
	// annotationPurgeEnd remembers when the last run that was told of ended and
	// when it was made: once it is deleted, the newest that is left is an older one.
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
	r.reportDBPurge(p, run, tell)
	return ctrl.Result{}, nil
}

// tellPurge says whether the end of a run is still to be told. Once a later run
// was told and is deleted, the one before it is the newest again.
func (r *Reconciler) tellPurge(ctx context.Context, p *Pass, run *batchv1.Job, at time.Time) (bool, error) {
	key, stamp := lastJobAnnotation(suffixDBPurge), purgeStamp(at, run.CreationTimestamp.Time)
	told, last := p.Cinder.Annotations[key], p.Cinder.Annotations[annotationPurgeEnd]
	switch {
	case told == string(run.UID) && last == stamp:
		return false, nil
	case told == string(run.UID):
		// An earlier version remembered the UID alone.
		err := r.annotate(ctx, p, annotationPurgeEnd, map[string]string{annotationPurgeEnd: stamp})
		var stale *staleError
		if err != nil && !errors.As(err, &stale) {
			log.FromContext(ctx).Error(err, "remember when a purge ended", "job", run.Name)
			err = nil
		}
		return false, err
	case cmp.Or(cmp.Compare(stamp, last), cmp.Compare(string(run.UID), told)) < 0:
		return false, nil
	}
	more := map[string]string{annotationPurgeEnd: stamp}
	return r.remember(ctx, p, key, more, deferral{"DBPurge" + eventSuffixEmissionDeferred, toldLater}, run)
}

// purgeStamp is when a run ended and when it was made, such that texts are in the
// order of the runs.
func purgeStamp(ended, made time.Time) string {
	return ended.UTC().Format(time.RFC3339) + " " + made.UTC().Format(time.RFC3339)
}

// reportDBPurge sets DBPurgeReady by the newest run that is there.
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
