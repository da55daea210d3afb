// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// purge plays the CronJob controller and the Job controller: a run that ended.
func (f *fixture) purge(name string, ok bool, at time.Time) *batchv1.Job {
	f.Helper()
	var cron batchv1.CronJob
	f.awaitChild(&cron, "cinder-db-purge")
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: f.ns, Labels: cron.Spec.JobTemplate.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: cron.Spec.JobTemplate.Spec,
	}
	f.create(f.children, job)
	f.endJobAt(name, ok, metav1.NewTime(at))
	return job
}

func TestAnOlderPurgeIsNotToldOnceMoreWhenALaterOneIsDeleted(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.install()
	const series, remembers = "cinder_operator_db_purge_total", "cinder.c5c3.io/last-db-purge-job-uid"
	first := time.Now().Truncate(time.Second)
	f.purge("purge-1", false, first)
	f.awaitCondition(v1alpha1.ConditionDBPurgeReady, metav1.ConditionFalse, v1alpha1.ReasonDBPurgeJobFailed)
	f.awaitOneEvent("DBPurgeJobFailed", corev1.EventTypeWarning, "purge-1")

	last := f.purge("purge-2", true, first.Add(time.Minute))
	f.awaitCondition(v1alpha1.ConditionDBPurgeReady, metav1.ConditionTrue, v1alpha1.ReasonDBPurgeScheduled)
	if err := f.children.Delete(t.Context(), last, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	// The newest run that is there counts, as one that was told of long ago.
	f.awaitCondition(v1alpha1.ConditionDBPurgeReady, metav1.ConditionFalse, v1alpha1.ReasonDBPurgeJobFailed)
	f.passes()
	for result, want := range map[string]float64{"succeeded": 1, "failed": 1} {
		if got := f.counter(series, "result", result); got != want {
			t.Errorf("%s{result=%q} is %v, want %v", series, result, got, want)
		}
	}
	f.awaitOneEvent("DBPurgeJobFailed", corev1.EventTypeWarning, "purge-1")
	if got := f.get().Annotations[remembers]; got != string(last.UID) {
		t.Errorf("the remembered run is %q, want %q", got, last.UID)
	}

	// What comes after is told as ever.
	f.purge("purge-3", false, first.Add(2*time.Minute))
	f.eventually("the third run to be counted", func(context.Context) error {
		if got := f.counter(series, "result", "failed"); got != 2 {
			return fmt.Errorf("%v failed runs are counted, want two", got)
		}
		return nil
	})
}
