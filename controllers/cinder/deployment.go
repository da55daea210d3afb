// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/network"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// reconcileDeployment ensures the API Deployment, its Service and its
// PodDisruptionBudget, and waits for the rollout.
func (r *Reconciler) reconcileDeployment(ctx context.Context, p *Pass) (ctrl.Result, error) {
	if p.Cinder.Spec.Autoscaling != nil {
		var live appsv1.Deployment
		if err := p.Scope.Get(ctx, p.Cinder.Name, &live); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		} else if err == nil {
			p.Facts.LiveReplicas = live.Spec.Replicas
		}
	}
	live, err := apply(ctx, p, workload.API(p.Cinder, p.Facts.Facts))
	if err != nil {
		return ctrl.Result{}, err
	}
	if _, err := apply(ctx, p, workload.Service(p.Cinder)); err != nil {
		return ctrl.Result{}, err
	}
	if _, err := apply(ctx, p, workload.PDB(p.Cinder)); err != nil {
		return ctrl.Result{}, err
	}
	p.Cinder.Status.Endpoint = network.Endpoint(p.Cinder)
	if state := rolloutOf(live); !state.available {
		p.setFalse(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonWaitingForDeployment, "%s", state.message)
		return ctrl.Result{RequeueAfter: r.Intervals.DeploymentPolling}, nil
	}
	p.setTrue(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonDeploymentReady, "the API is available")
	return ctrl.Result{}, nil
}
