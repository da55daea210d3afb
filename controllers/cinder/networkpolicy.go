// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/network"
)

// reconcileNetworkPolicy creates and deletes the NetworkPolicy.
func (r *Reconciler) reconcileNetworkPolicy(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionNetworkPolicyReady
	if p.Cinder.Spec.NetworkPolicy == nil {
		gone := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: p.Cinder.Name, Namespace: p.Cinder.Namespace}}
		if err := remove(ctx, p, gone); err != nil {
			return ctrl.Result{}, err
		}
		p.setTrue(typ, v1alpha1.ReasonNetworkPolicyNotRequired, "spec.networkPolicy is not set")
		return ctrl.Result{}, nil
	}
	if len(p.Cinder.Spec.NetworkPolicy.Ingress) == 0 {
		// Nothing is written: an empty list of sources must not be taken for all.
		return ctrl.Result{}, network.ErrNoIngress
	}
	peers, err := r.networkPeers(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	policy, err := network.Policy(p.Cinder, p.Facts.Facts, peers)
	if err != nil {
		return ctrl.Result{}, err
	}
	if _, err := apply(ctx, p, policy); err != nil {
		return ctrl.Result{}, err
	}
	p.setTrue(typ, v1alpha1.ReasonNetworkPolicyReady, "the NetworkPolicy is in place")
	return ctrl.Result{}, nil
}

// networkPeers are where the health probe comes from: this process where it
// probes directly, else the API servers of the children's cluster.
func (r *Reconciler) networkPeers(ctx context.Context, p *Pass) (network.Peers, error) {
	var peers network.Peers
	if p.Target.IsHub() {
		peers.OperatorNamespace = r.OperatorNamespace
	}
	if r.probesDirectly(p) {
		return peers, nil
	}
	var err error
	peers.APIServerCIDRs, err = p.Target.APIServerCIDRs(ctx)
	return peers, err
}
