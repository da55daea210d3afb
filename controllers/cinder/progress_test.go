// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAJobWithoutAPodSaysWhereTheReasonStands(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "cinder-db-sync"}}
	if got, want := progressOf(job, "migrates the schema", `"edge-1"`), `Job cinder-db-sync has no pod yet; its events on "edge-1" tell what refuses one`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, status := range []batchv1.JobStatus{{Active: 1}, {Failed: 1}, {Succeeded: 1}} {
		job.Status = status
		if got, want := progressOf(job, "migrates the schema", `"edge-1"`), "Job cinder-db-sync migrates the schema"; got != want {
			t.Errorf("%+v: got %q, want %q", status, got, want)
		}
	}
}
