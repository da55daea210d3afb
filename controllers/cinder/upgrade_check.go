// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/workload"
)

const suffixDBMigrate = "db-migrate"

// tellUpgradeCheck tells the exit code of the upgrade check, once per Job. It is
// asked in every pass of the roll, so that a pass that could not remember the Job
// only defers the event.
func (r *Reconciler) tellUpgradeCheck(ctx context.Context, p *Pass) error {
	var job batchv1.Job
	if err := p.Scope.Get(ctx, render.DBMigrateName(p.Cinder.Name), &job); err != nil {
		return client.IgnoreNotFound(err)
	}
	status := &p.Cinder.Status
	intent := workload.DBMigrate(p.Cinder, p.Facts.Facts, status.InstalledRelease, status.TargetRelease)
	outcome, _, _ := outcomeOf(&job)
	if outcome != jobSucceeded || job.Annotations[render.AnnotationRerunKey] != intent.Annotations[render.AnnotationRerunKey] {
		return nil
	}
	tell, err := r.tellOnce(ctx, p, suffixDBMigrate, deferral{"UpgradeCheck" + eventSuffixEmissionDeferred, toldLater}, &job)
	if err != nil || !tell {
		return err
	}
	code, err := r.upgradeCheckExit(ctx, p, &job)
	if err != nil {
		// Nothing that is missing here may hold the upgrade, which the check only
		// informs about: not even a cluster that is lost, which the next call tells.
		log.FromContext(ctx).Info("the exit code of the upgrade check is unavailable", "job", job.Name, "cause", err.Error())
	}
	kind, reason, note := upgradeCheckEvent(status.TargetRelease, code, err == nil)
	r.tellNow(p, kind, reason, "%s", note)
	return nil
}

// upgradeCheckExit reads the exit code off the Job's pods. They are listed live
// and by the Job's own label: a read through the cache would start an informer
// over every pod of the cluster, which the operator may not watch.
func (r *Reconciler) upgradeCheckExit(ctx context.Context, p *Pass, job *batchv1.Job) (int, error) {
	var pods corev1.PodList
	err := p.Target.APIReader().List(ctx, &pods, client.InNamespace(job.Namespace),
		client.MatchingLabels{batchv1.ControllerUidLabel: string(job.UID)})
	if err != nil {
		return 0, fmt.Errorf("list the pods of Job %s/%s on %s: %w", job.Namespace, job.Name, p.Target, err)
	}
	pod := checkedPod(pods.Items)
	if pod == nil {
		return 0, fmt.Errorf("job %s/%s on %s has no pod left", job.Namespace, job.Name, p.Target)
	}
	code, ok := exitOf(pod)
	if !ok {
		return 0, fmt.Errorf("pod %s/%s on %s left no exit code", pod.Namespace, pod.Name, p.Target)
	}
	return code, nil
}

// checkedPod is the pod whose check counts: the one that succeeded, for each
// failed attempt is a pod of its own beside it; without one the newest.
func checkedPod(pods []corev1.Pod) *corev1.Pod {
	var best *corev1.Pod
	for i := range pods {
		pod := &pods[i]
		if best == nil || better(pod, best) {
			best = pod
		}
	}
	return best
}

func better(a, b *corev1.Pod) bool {
	aOK, bOK := a.Status.Phase == corev1.PodSucceeded, b.Status.Phase == corev1.PodSucceeded
	if aOK != bOK {
		return aOK
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}

func exitOf(pod *corev1.Pod) (int, bool) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name != workload.ContainerJob || c.State.Terminated == nil {
			continue
		}
		text, ok := strings.CutPrefix(c.State.Terminated.Message, workload.MigrateMessage)
		if !ok {
			return 0, false
		}
		code, err := strconv.Atoi(strings.TrimSpace(text))
		return code, err == nil
	}
	return 0, false
}

// upgradeCheckEvent turns the exit code, which is a severity, into an event.
func upgradeCheckEvent(target string, code int, known bool) (kind, reason, note string) {
	check := "the upgrade check for release " + target
	switch {
	case !known:
		return corev1.EventTypeNormal, EventUpgradeCheckCompleted, check + " has run; its exit code is unavailable"
	case code == 0:
		return corev1.EventTypeNormal, EventUpgradeCheckCompleted, check + " exited with 0: it found nothing"
	case code == 1:
		return corev1.EventTypeWarning, EventUpgradeCheckWarnings, check + " exited with 1: it has warnings, which the log of its Job shows"
	}
	return corev1.EventTypeWarning, EventUpgradeCheckWarnings, fmt.Sprintf(
		"%s exited with %d: a check failed, which the log of its Job shows; the upgrade goes on", check, code)
}
