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
	"sigs.k8s.io/controller-runtime/pkg/log"

	"c5c3.io/cinder-operator/internal/render/workload"
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
		return apply(ctx, p, intent)
	case err != nil:
		return nil, err
	case !live.DeletionTimestamp.IsZero():
		return nil, nil
	case workload.SameJob(&live, intent):
		return apply(ctx, p, intent)
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
	return apply(ctx, p, intent)
}

// lastJobAnnotation remembers the UID of the last Job of a kind that was told of.
func lastJobAnnotation(suffix string) string { return "cinder.c5c3.io/last-" + suffix + "-job-uid" }

// tellOnce says whether the end of a Job is still to be told, and remembers it
// first: a crash may lose an event, never repeat one. deferred names the event
// that is given when remembering fails.
func (r *Reconciler) tellOnce(ctx context.Context, p *Pass, suffix, deferred string, job *batchv1.Job) (bool, error) {
	key := lastJobAnnotation(suffix)
	if p.Cinder.Annotations[key] == string(job.UID) {
		return false, nil
	}
	err := r.patchMeta(ctx, p.Cinder, "annotation "+key, func(obj client.Object) {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = string(job.UID)
		obj.SetAnnotations(annotations)
	})
	if err == nil {
		return true, nil
	}
	var stale *staleError
	if errors.As(err, &stale) {
		return false, err
	}
	log.FromContext(ctx).Error(err, "remember a Job", "job", job.Name)
	r.tellNow(p, corev1.EventTypeWarning, deferred, "the end of Job %s is told later: %s", job.Name, err)
	return false, nil
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
