// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/internal/render/workload"
	"c5c3.io/cinder-operator/projection"
)

// jobOutcome is what a Job came to.
type jobOutcome int

const (
	jobRunning jobOutcome = iota
	jobSucceeded
	jobFailed
)

// outcomeOf reads a Job's terminal conditions. at is when it ended.
func outcomeOf(job *batchv1.Job) (outcome jobOutcome, message string, at time.Time) {
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			at = c.LastTransitionTime.Time
			if job.Status.CompletionTime != nil {
				at = job.Status.CompletionTime.Time
			}
			return jobSucceeded, c.Message, at
		case batchv1.JobFailed:
			return jobFailed, fmt.Sprintf("%s: %s", c.Reason, c.Message), c.LastTransitionTime.Time
		}
	}
	return jobRunning, "", time.Time{}
}

// progressOf says what a Job that has not ended does. One that has no pod yet
// may never get one (a quota, a PriorityClass that is not there), and only the
// events of the Job tell.
func progressOf(job *batchv1.Job, does, where string) string {
	if job.Status.Active == 0 && job.Status.Failed == 0 && job.Status.Succeeded == 0 {
		return fmt.Sprintf("Job %s has no pod yet; its events on %s tell what refuses one", job.Name, where)
	}
	return fmt.Sprintf("Job %s %s", job.Name, does)
}

// ensureJob makes the Job of an intent exist and returns it. A Job that was
// rendered from something else is replaced unless a pod of it runs: one that can
// never start must not pin the old image. Nil says that the old one is still
// there.
func ensureJob(ctx context.Context, p *Pass, intent *batchv1.Job) (*batchv1.Job, error) {
	var live batchv1.Job
	err := p.Scope.Get(ctx, intent.Name, &live)
	switch {
	case apierrors.IsNotFound(err):
		return applyJob(ctx, p, intent)
	case err != nil:
		return nil, err
	case !live.DeletionTimestamp.IsZero():
		return nil, nil
	case workload.SameJob(&live, intent):
		return applyJob(ctx, p, intent)
	case ptr.Deref(live.Status.Ready, 0) > 0:
		return nil, nil
	}
	return replaceJob(ctx, p, intent)
}

// replaceJob deletes an outdated Job and applies the intent. The cache may still
// show a Job that was replaced a moment ago, and a delete by name would then end
// its successor: so the Job is judged once more as it is.
func replaceJob(ctx context.Context, p *Pass, intent *batchv1.Job) (*batchv1.Job, error) {
	var now batchv1.Job
	err := p.Target.APIReader().Get(ctx, types.NamespacedName{Namespace: p.Cinder.Namespace, Name: intent.Name}, &now)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get Job %s/%s on %s: %w", p.Cinder.Namespace, intent.Name, p.Target, err)
	}
	if err == nil && !workload.SameJob(&now, intent) {
		if !now.DeletionTimestamp.IsZero() || ptr.Deref(now.Status.Ready, 0) > 0 {
			return nil, nil // it started, or ends, since the cache saw it
		}
		gone, err := p.Scope.Delete(ctx, &now, metav1.DeletePropagationBackground)
		if err != nil || !gone {
			return nil, err
		}
	}
	return applyJob(ctx, p, intent)
}

// applyJob projects a Job; nil says that one of its name is on its way out, which
// the cache did not know.
func applyJob(ctx context.Context, p *Pass, intent *batchv1.Job) (*batchv1.Job, error) {
	job, err := apply(ctx, p, intent)
	if errors.Is(err, projection.ErrTerminating) {
		return nil, nil
	}
	return job, err
}

// count feeds a Job's end into its collector pair.
func (m *jobMetrics) count(p *Pass, job *batchv1.Job, outcome jobOutcome, at time.Time) {
	result := resultSucceeded
	if outcome == jobFailed {
		result = resultFailed
	}
	m.total.WithLabelValues(p.Cinder.Name, p.Cinder.Namespace, result).Inc()
	if start := job.Status.StartTime; start != nil {
		m.duration.WithLabelValues(p.Cinder.Name, p.Cinder.Namespace).Observe(max(0, at.Sub(start.Time).Seconds()))
	}
}
