// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// reconcileNetworkPolicy creates and deletes the NetworkPolicy.
func (r *Reconciler) reconcileNetworkPolicy(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionNetworkPolicyReady
	if p.Cinder.Spec.NetworkPolicy == nil {
		gone := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: p.Cinder.Name, Namespace: p.Cinder.Namespace}}
		if err := remove(ctx, p, gone, metav1.DeletePropagationBackground); err != nil {
			return ctrl.Result{}, err
		}
		p.setTrue(typ, v1alpha1.ReasonNetworkPolicyNotRequired, "spec.networkPolicy is not set")
		return ctrl.Result{}, nil
	}
	p.notSupported(typ, "spec.networkPolicy")
	return ctrl.Result{}, nil
}
