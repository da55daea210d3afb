// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func run(name, owner string, kind batchv1.JobConditionType, minute int) batchv1.Job {
	job := batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner)}},
	}}
	if kind != "" {
		job.Status.Conditions = []batchv1.JobCondition{{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)), Reason: "DeadlineExceeded",
		}}
	}
	return job
}

func TestTheNewestEndedRunOfThisCronJobCounts(t *testing.T) {
	t.Parallel()
	cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{UID: "cron"}}
	ok, failed := batchv1.JobComplete, batchv1.JobFailed
	for name, c := range map[string]struct {
		jobs []batchv1.Job
		want string
	}{
		"none has run":                     {nil, ""},
		"a running one has not ended":      {[]batchv1.Job{run("a", "cron", "", 0)}, ""},
		"a later success heals a failure":  {[]batchv1.Job{run("a", "cron", failed, 1), run("b", "cron", ok, 2)}, "b"},
		"order in the list does not count": {[]batchv1.Job{run("b", "cron", ok, 2), run("a", "cron", failed, 1)}, "b"},
		"of twins the UID decides":         {[]batchv1.Job{run("a", "cron", failed, 1), run("b", "cron", ok, 1)}, "b"},
		"and so it does the other way":     {[]batchv1.Job{run("b", "cron", ok, 1), run("a", "cron", failed, 1)}, "b"},
		"a running one hides no failure":   {[]batchv1.Job{run("a", "cron", failed, 1), run("b", "cron", "", 0)}, "a"},
		"a run of an earlier CronJob":      {[]batchv1.Job{run("a", "former", failed, 5)}, ""},
		"the migration Job":                {[]batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "cinder-db-sync"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newestRun(c.jobs, cron)
			if (got == nil) != (c.want == "") || got != nil && got.Name != c.want {
				t.Errorf("the newest run is %v, want %q", got, c.want)
			}
		})
	}
}

func TestASuspendedPurgeIsAnOperatorsDecision(t *testing.T) {
	t.Parallel()
	failed := run("purge-1", "cron", batchv1.JobFailed, 1)
	for name, c := range map[string]struct {
		suspend bool
		run     *batchv1.Job
		tell    bool
		reason  string
		status  metav1.ConditionStatus
		events  int
	}{
		"nothing ran":                          {false, nil, false, v1alpha1.ReasonDBPurgeScheduled, metav1.ConditionTrue, 0},
		"the last run failed":                  {false, &failed, true, v1alpha1.ReasonDBPurgeJobFailed, metav1.ConditionFalse, 1},
		"the failure was told of before":       {false, &failed, false, v1alpha1.ReasonDBPurgeJobFailed, metav1.ConditionFalse, 0},
		"suspended, whatever the last run was": {true, &failed, false, v1alpha1.ReasonDBPurgeSuspended, metav1.ConditionTrue, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := events.NewFakeRecorder(5)
			r := &Reconciler{Deps: Deps{Recorder: recorder}}
			p := &Pass{Cinder: &v1alpha1.Cinder{Spec: v1alpha1.CinderSpec{DBPurge: &v1alpha1.DBPurgeSpec{Suspend: ptr.To(c.suspend)}}}}
			r.reportDBPurge(p, c.run, c.tell)
			if got := (*p.Conditions())[0]; got.Reason != c.reason || got.Status != c.status {
				t.Errorf("condition is %s/%s", got.Status, got.Reason)
			}
			if got := len(recorder.Events); got != c.events {
				t.Errorf("%d events were given", got)
			}
		})
	}
}
