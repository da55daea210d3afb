// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestRolloutOf(t *testing.T) {
	t.Parallel()
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
			got := rolloutOf(d)
			if got.available != c.available || got.complete != c.complete || !strings.Contains(got.message, c.says) || (got.message == "") != c.available {
				t.Errorf("rollout is %+v", got)
			}
		})
	}
}
