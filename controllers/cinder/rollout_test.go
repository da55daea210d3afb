// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/projection"
)

// progressed is a condition of a rollout that moved on that long ago.
func progressed(now time.Time, ago time.Duration) []appsv1.DeploymentCondition {
	return []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(now)},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(now.Add(-ago))},
	}
}

func TestRolloutOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		status              appsv1.DeploymentStatus
		available, complete bool
		says                string
	}{
		"not observed yet":     {appsv1.DeploymentStatus{ObservedGeneration: 1, UpdatedReplicas: 3, AvailableReplicas: 3, Replicas: 3}, false, false, "not observed"},
		"nothing there":        {appsv1.DeploymentStatus{ObservedGeneration: 2}, false, false, "available yet"},
		"one pod short":        {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 3, AvailableReplicas: 2, Replicas: 3}, false, false, "available yet"},
		"old pods still serve": {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 1, AvailableReplicas: 3, Replicas: 4}, false, false, "available yet"},
		"old pods are left":    {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 3, AvailableReplicas: 3, Replicas: 4}, true, false, ""},
		"an old pod is going":  {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 3, AvailableReplicas: 3, Replicas: 3, TerminatingReplicas: ptr.To[int32](1)}, true, false, ""},
		"all is rolled":        {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 3, AvailableReplicas: 3, Replicas: 3}, true, true, ""},
		"pods are refused": {appsv1.DeploymentStatus{ObservedGeneration: 2, Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "d-5b5cf8fb7c-x2x9z" is forbidden: no PriorityClass with name gold was found`},
		}}, false, false, `: pods "d" is forbidden: no PriorityClass with name gold was found`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: "d", Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)}, Status: c.status,
			}
			got := rolloutOf(d, now)
			if got.available != c.available || got.complete != c.complete || !strings.Contains(got.message, c.says) || (got.message == "") != c.available {
				t.Errorf("rollout is %+v", got)
			}
			if (got.left != "") != (c.available && !c.complete) {
				t.Errorf("what is left is %q", got.left)
			}
		})
	}
}

// Kubernetes before 1.35 does not count the pods that are on their way out.
func TestPodsThatAreNotCountedAreGivenTheirTimeToGo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		conditions  []appsv1.DeploymentCondition
		grace       *int64
		terminating *int32
		complete    bool
	}{
		"the last one was told to stop just now":    {progressed(now, 0), nil, nil, false},
		"they may still take as long as any":        {progressed(now, 30*time.Second), nil, nil, false},
		"they have had as long as any":              {progressed(now, 31*time.Second), nil, nil, true},
		"they may take longer":                      {progressed(now, 31*time.Second), ptr.To[int64](60), nil, false},
		"they have had longer":                      {progressed(now, 61*time.Second), ptr.To[int64](60), nil, true},
		"they are counted, and none is left":        {progressed(now, 0), nil, ptr.To[int32](0), true},
		"they are counted, and one takes too long":  {progressed(now, time.Hour), nil, ptr.To[int32](1), false},
		"nothing tells when the rollout progressed": {nil, nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}}
			d.Spec.Template.Spec.TerminationGracePeriodSeconds = c.grace
			d.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, TerminatingReplicas: c.terminating, Conditions: c.conditions}
			got := rolloutOf(d, now)
			if !got.available || got.complete != c.complete || (got.left == "") != c.complete {
				t.Errorf("rollout is %+v", got)
			}
		})
	}
}

func TestAWorkloadOnItsWayOutIsAwaitedLikeARollout(t *testing.T) {
	t.Parallel()
	leaving := fmt.Errorf("apply Deployment d: %w", &projection.TerminatingError{Finalizers: []string{"example.org/held"}})
	for phase, waits := range map[v1alpha1.UpgradePhase]time.Duration{"": 0, v1alpha1.UpgradePhaseRollingUpdate: RequeueDeploymentPolling} {
		t.Run("in phase "+string(phase), func(t *testing.T) {
			t.Parallel()
			r := &Reconciler{Deps: Deps{Intervals: Intervals{}.withDefaults()}}
			p := &Pass{Cinder: &v1alpha1.Cinder{Status: v1alpha1.CinderStatus{UpgradePhase: phase}}}
			missing, err := r.awaitedOf(p, nil, leaving)
			if err != nil || !strings.Contains(missing, "example.org/held") {
				t.Errorf("awaited is %q (%v)", missing, err)
			}
			if got := r.rollGate(p).RequeueAfter; got != waits {
				t.Errorf("the gate waits %s, want %s", got, waits)
			}
			if missing, err := r.awaitedOf(p, nil, errors.New("refused")); err == nil {
				t.Errorf("another error is awaited: %q", missing)
			}
		})
	}
}

func TestARollAwaitsTheTargetsImageAndNoPodBesideIt(t *testing.T) {
	t.Parallel()
	full := appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 1, AvailableReplicas: 1, Replicas: 1}
	surge, uncounted := full, full
	surge.Replicas = 2
	now := time.Now()
	uncounted.Conditions = progressed(now, 10*time.Second)
	for name, c := range map[string]struct {
		phase  v1alpha1.UpgradePhase
		image  string
		status appsv1.DeploymentStatus
		says   string
		waits  time.Duration
	}{
		"steady, an old pod is left":     {"", "r:2026.2", surge, "", 0},
		"steady, none is available":      {"", "r:2026.2", appsv1.DeploymentStatus{ObservedGeneration: 2}, "available yet", 0},
		"rolling, all is rolled":         {v1alpha1.UpgradePhaseRollingUpdate, "r:2026.2", full, "", RequeueDeploymentPolling},
		"steady, pods are not counted":   {"", "r:2026.2", uncounted, "", 0},
		"rolling, pods are not counted":  {v1alpha1.UpgradePhaseRollingUpdate, "r:2026.2", uncounted, "does not count", RequeueDeploymentPolling},
		"rolling, an old pod is left":    {v1alpha1.UpgradePhaseRollingUpdate, "r:2026.2", surge, "earlier template", RequeueDeploymentPolling},
		"rolling, none is available":     {v1alpha1.UpgradePhaseRollingUpdate, "r:2026.2", appsv1.DeploymentStatus{ObservedGeneration: 2}, "available yet", RequeueDeploymentPolling},
		"rolling, held on the old image": {v1alpha1.UpgradePhaseRollingUpdate, "r:2026.1", full, "earlier image", RequeueDeploymentPolling},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Reconciler{Deps: Deps{Intervals: Intervals{}.withDefaults()}, now: func() time.Time { return now }}
			p := &Pass{Cinder: &v1alpha1.Cinder{
				Spec:   v1alpha1.CinderSpec{Image: v1alpha1.ImageSpec{Repository: "r", Tag: "2026.2"}},
				Status: v1alpha1.CinderStatus{UpgradePhase: c.phase},
			}}
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Generation: 2}, Status: c.status}
			d.Spec.Template.Spec.Containers = []corev1.Container{{Image: c.image}}
			got := r.awaited(p, d)
			if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("awaited is %q, want %q", got, c.says)
			}
			if got := r.rollGate(p).RequeueAfter; got != c.waits {
				t.Errorf("the gate waits %s, want %s", got, c.waits)
			}
		})
	}
}
