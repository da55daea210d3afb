// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/projection"
)

// rollout is how far a Deployment has come.
type rollout struct {
	// available: every wanted pod of the present template is available.
	available bool
	// complete: and none of an earlier template is left, not even on its way out.
	complete bool
	// message says what is missing, without counts that change from pass to pass.
	message string
	// left says what an available rollout lacks to be complete.
	left string
}

// rolloutOf reads a Deployment's status. A status older than the spec says
// nothing about it.
func rolloutOf(d *appsv1.Deployment, now time.Time) rollout {
	want := ptr.Deref(d.Spec.Replicas, 1)
	s := d.Status
	if s.ObservedGeneration < d.Generation {
		return rollout{message: fmt.Sprintf("Deployment %s is not observed yet", d.Name)}
	}
	out := rollout{available: s.UpdatedReplicas >= want && s.AvailableReplicas >= want}
	switch {
	case !out.available:
		out.message = fmt.Sprintf("Deployment %s does not have its pods available yet", d.Name)
		if why := stuck(d); why != "" {
			out.message += ": " + why
		}
	case s.Replicas != s.UpdatedReplicas || ptr.Deref(s.TerminatingReplicas, 0) > 0:
		out.left = fmt.Sprintf("Deployment %s still has pods of an earlier template", d.Name)
	case s.TerminatingReplicas == nil && now.Before(drainedBy(d)):
		out.left = fmt.Sprintf("Deployment %s may still have pods of an earlier template: its cluster does not count those on their way out", d.Name)
	default:
		out.complete = true
	}
	return out
}

// drainedBy is when the last pod of an earlier template is gone at the latest,
// where the cluster does not count the pods on their way out (Kubernetes before
// 1.35): such a pod was told to stop before the rollout made its last progress.
// A Deployment without a progress deadline has no such time and is not held. The
// grace is that of the present template: the clock of the cluster is trusted, and
// a grace that is shortened together with the release is taken at its word.
func drainedBy(d *appsv1.Deployment) time.Time {
	grace := ptr.Deref(d.Spec.Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			// The time is cut to a second.
			return c.LastUpdateTime.Add(time.Duration(grace+1) * time.Second)
		}
	}
	return time.Time{}
}

// rolling tells whether the workloads roll onto a new release in this pass.
func (p *Pass) rolling() bool {
	return p.Cinder.Status.UpgradePhase == v1alpha1.UpgradePhaseRollingUpdate
}

// awaited says what a workload still lacks before its step may report it ready;
// empty when nothing. In a roll no pod of an earlier release may be left, neither
// one that a rollout has not replaced yet nor one of a Deployment that is held
// back on an earlier image.
func (r *Reconciler) awaited(p *Pass, live *appsv1.Deployment) string {
	state := rolloutOf(live, r.now())
	if !p.rolling() {
		return state.message
	}
	image := p.Cinder.Spec.Image.Reference()
	for _, c := range live.Spec.Template.Spec.Containers {
		if c.Image != image {
			return fmt.Sprintf("Deployment %s is still of an earlier image", live.Name)
		}
	}
	if state.available && !state.complete {
		return state.left
	}
	return state.message
}

// awaitedOf is awaited of what a workload's apply answered. One that came back
// before its predecessor was gone waits like any rollout: outside a roll it may
// hold back no other workload.
func (r *Reconciler) awaitedOf(p *Pass, live *appsv1.Deployment, err error) (string, error) {
	switch {
	case errors.Is(err, projection.ErrTerminating):
		return err.Error(), nil
	case err != nil:
		return "", err
	}
	return r.awaited(p, live), nil
}

// rollGate is the result of a workload step whose Deployments are awaited. Outside
// a roll the step reports and goes on; within one the pass ends here, so that no
// later workload rolls before this one has.
func (r *Reconciler) rollGate(p *Pass) ctrl.Result {
	if p.rolling() {
		return ctrl.Result{RequeueAfter: r.Intervals.DeploymentPolling}
	}
	return ctrl.Result{}
}

// stuck quotes what the Deployment itself says of pods that cannot be made.
func stuck(d *appsv1.Deployment) string {
	// A pod that is refused is quoted by a generated name, another one at every
	// attempt: a message that repeats it would never come to rest.
	generated := regexp.MustCompile(regexp.QuoteMeta(d.Name) + `-[a-z0-9]+(-[a-z0-9]{0,5})?\b`)
	for _, c := range d.Status.Conditions {
		refused := c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue
		late := c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
		if refused || late {
			return generated.ReplaceAllString(c.Message, d.Name)
		}
	}
	return ""
}
