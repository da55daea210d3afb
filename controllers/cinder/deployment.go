// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/network"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// reconcileDeployment ensures the API Deployment, its Service and its
// PodDisruptionBudget, and waits for the rollout. The API rolls last, so here an
// upgrade learns that all have rolled.
func (r *Reconciler) reconcileDeployment(ctx context.Context, p *Pass) (ctrl.Result, error) {
	live, err := applyAPI(ctx, p)
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
	missing := r.awaited(p, live)
	if missing == "" && p.rolling() {
		if missing, err = r.unrolled(ctx, p); err != nil {
			return ctrl.Result{}, err
		}
	}
	if missing != "" {
		p.setFalse(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonWaitingForDeployment, "%s", missing)
		return ctrl.Result{RequeueAfter: r.Intervals.DeploymentPolling}, nil
	}
	p.setTrue(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonDeploymentReady, "the API is available")
	if p.rolling() {
		p.Cinder.Status.UpgradePhase = v1alpha1.UpgradePhaseContracting
		p.normal(EventDeploymentRolloutComplete, upgradeOf(p)+": every workload has rolled")
		return ctrl.Result{RequeueAfter: r.Intervals.NextPass}, nil
	}
	return ctrl.Result{}, nil
}

// applyAPI projects the API Deployment. With autoscaling its replicas are what the
// autoscaler made them last, within the bounds.
func applyAPI(ctx context.Context, p *Pass) (*appsv1.Deployment, error) {
	if p.Cinder.Spec.Autoscaling == nil {
		return apply(ctx, p, workload.API(p.Cinder, p.Facts.Facts))
	}
	return applyFrom(ctx, p, func(live *appsv1.Deployment) *appsv1.Deployment {
		facts := p.Facts.Facts
		if live != nil {
			facts.LiveReplicas = live.Spec.Replicas
		}
		return workload.API(p.Cinder, facts)
	})
}

// unrolled names a Deployment that still has something of an earlier release. The
// steps have looked at those that they want; one that is on its way out counts as
// well, for the contract Job runs against no process of the earlier release.
func (r *Reconciler) unrolled(ctx context.Context, p *Pass) (string, error) {
	var list appsv1.DeploymentList
	if err := p.Scope.List(ctx, &list, nil); err != nil {
		return "", err
	}
	for _, d := range sortedByName(list.Items, func(d *appsv1.Deployment) string { return d.Name }) {
		if !d.DeletionTimestamp.IsZero() {
			return fmt.Sprintf("Deployment %s is still on its way out", d.Name), nil
		}
		if missing := r.awaited(p, &d); missing != "" {
			return missing, nil
		}
	}
	return "", nil
}
