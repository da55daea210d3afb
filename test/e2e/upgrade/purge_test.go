// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// runPurge starts a run by hand, as an administrator would.
func (f *fixture) runPurge(name string) *batchv1.Job {
	f.Helper()
	lab.Run(f, "kubectl", target, "--", "--namespace", f.cinder.Namespace, "create", "job", name, "--from=cronjob/cinder-db-purge")
	job := &batchv1.Job{}
	f.edge.Get(f, f.key(name), job)
	return job
}

func TestThePurgeReportsItsNewestRunAndHeals(t *testing.T) {
	f := install(t, "purge")
	cron := &batchv1.CronJob{}
	f.edge.Get(t, f.key("cinder-db-purge"), cron)
	if d := cron.Spec.JobTemplate.Spec.ActiveDeadlineSeconds; d == nil || *d != 3600 || cron.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
		t.Errorf("the CronJob is %+v", cron.Spec)
	}
	purge := func(status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		lab.WaitFor(t, harness.ReadyTimeout, f.cinder, harness.Want{Type: v1alpha1.ConditionDBPurgeReady, Status: status, Reason: reason, Message: message})
	}

	// A run that wedges: its deadline is brought near, the template's is an hour.
	f.holdJob("wedged")
	wedged := f.runPurge("wedged")
	if d := wedged.Spec.ActiveDeadlineSeconds; d == nil || *d != 3600 {
		t.Errorf("the run's deadline is %v", d)
	}
	f.runningJob("wedged")
	harness.Change(t, f.edge, wedged, func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) })
	purge(metav1.ConditionFalse, v1alpha1.ReasonDBPurgeJobFailed, "wedged")
	f.wantOneEvent("DBPurgeJobFailed", "wedged", "DeadlineExceeded")

	// A Job that is no run of this CronJob says nothing, however new it is.
	other := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: f.cinder.Namespace, Name: "other", Labels: wedged.Labels}, Spec: *wedged.Spec.DeepCopy()}
	other.Spec.Selector, other.Spec.Template.Labels, other.Spec.ActiveDeadlineSeconds = nil, nil, nil
	f.edge.Create(t, other)
	f.awaitJobEnd("other")
	lab.WaitFor(t, harness.ReadyTimeout, f.cinder, harness.Want{Type: v1alpha1.ConditionDBPurgeReady, Reason: v1alpha1.ReasonDBPurgeJobFailed, Message: "wedged"})

	f.runPurge("healed")
	purge(metav1.ConditionTrue, v1alpha1.ReasonDBPurgeScheduled, "")
	f.wantOneEvent("DBPurgeJobFailed")
	metrics := f.op.Scrape(t)
	if err := errors.Join(metrics.JobsEnded(f.cinder, "db_purge", 1, 1), metrics.JobsEnded(f.cinder, "db_sync", 1, 0)); err != nil {
		t.Error(err)
	}

	// A new operator tells nothing of it again.
	f.restart()
	harness.Change(t, lab.Hub, f.cinder, func(c *v1alpha1.Cinder) { c.Spec.DBPurge = &v1alpha1.DBPurgeSpec{Suspend: ptr.To(true)} })
	purge(metav1.ConditionTrue, v1alpha1.ReasonDBPurgeSuspended, "")
	f.edge.Get(t, f.key("cinder-db-purge"), cron)
	if !ptr.Deref(cron.Spec.Suspend, false) {
		t.Error("the CronJob is not suspended")
	}
	f.wantOneEvent("DBPurgeJobFailed")
	for _, name := range []string{"db_purge_total", "db_purge_duration_seconds_count", "db_sync_total", "db_sync_duration_seconds_count"} {
		if again := f.op.Scrape(t).OfCinder(f.cinder).Of("cinder_operator_" + name); len(again) > 0 {
			t.Errorf("a new operator counted again: %v", again)
		}
	}
}
