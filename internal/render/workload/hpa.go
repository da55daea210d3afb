// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// HPA renders the API's HorizontalPodAutoscaler, or nil without
// spec.autoscaling. The behaviour is copied as it is.
func HPA(c *v1alpha1.Cinder) *autoscalingv2.HorizontalPodAutoscaler {
	spec := c.Spec.Autoscaling
	if spec == nil {
		return nil
	}
	least, largest := c.Spec.EffectiveAPIReplicaBounds()
	var metrics []autoscalingv2.MetricSpec
	for _, m := range []struct {
		name   corev1.ResourceName
		target *int32
	}{{corev1.ResourceCPU, spec.TargetCPUUtilization}, {corev1.ResourceMemory, spec.TargetMemoryUtilization}} {
		if m.target == nil {
			continue
		}
		metrics = append(metrics, autoscalingv2.MetricSpec{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name: m.name,
				Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(*m.target),
				},
			},
		})
	}
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: meta(c, c.Name, render.Labels(c.Name, render.ComponentAPI)),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: c.Name},
			MinReplicas:    ptr.To(least),
			MaxReplicas:    largest,
			Metrics:        metrics,
			Behavior:       spec.Behavior.DeepCopy(),
		},
	}
}
