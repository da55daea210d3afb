// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// reconcileHPA creates and deletes the HorizontalPodAutoscaler of the API.
func (r *Reconciler) reconcileHPA(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionHPAReady
	if p.Cinder.Spec.Autoscaling == nil {
		gone := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: p.Cinder.Name, Namespace: p.Cinder.Namespace}}
		if err := remove(ctx, p, gone); err != nil {
			return ctrl.Result{}, err
		}
		p.setTrue(typ, v1alpha1.ReasonHPANotRequired, "spec.autoscaling is not set")
		return ctrl.Result{}, nil
	}
	if _, err := apply(ctx, p, workload.HPA(p.Cinder)); err != nil {
		return ctrl.Result{}, err
	}
	p.setTrue(typ, v1alpha1.ReasonHPAReady, "the HorizontalPodAutoscaler is in place")
	return ctrl.Result{}, nil
}
