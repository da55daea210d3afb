// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// reconcileHPA creates and deletes the HorizontalPodAutoscaler of the API.
func (r *Reconciler) reconcileHPA(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionHPAReady
	if p.Cinder.Spec.Autoscaling == nil {
		gone := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: p.Cinder.Name, Namespace: p.Cinder.Namespace}}
		if err := remove(ctx, p, gone, metav1.DeletePropagationBackground); err != nil {
			return ctrl.Result{}, err
		}
		p.setTrue(typ, v1alpha1.ReasonHPANotRequired, "spec.autoscaling is not set")
		return ctrl.Result{}, nil
	}
	if _, err := apply(ctx, p, renderHPA(p.Cinder)); err != nil {
		return ctrl.Result{}, err
	}
	p.setTrue(typ, v1alpha1.ReasonHPAReady, "the HorizontalPodAutoscaler is in place")
	return ctrl.Result{}, nil
}

func renderHPA(cr *v1alpha1.Cinder) *autoscalingv2.HorizontalPodAutoscaler {
	spec := cr.Spec.Autoscaling
	least, largest := cr.Spec.EffectiveAPIReplicaBounds()
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
				Name:   m.name,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: m.target},
			},
		})
	}
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: cr.Name, Namespace: cr.Namespace, Labels: render.Labels(cr.Name, render.ComponentAPI)},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: cr.Name,
			},
			MinReplicas: &least,
			MaxReplicas: largest,
			Metrics:     metrics,
			Behavior:    spec.Behavior,
		},
	}
}
