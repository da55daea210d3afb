// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// reconcileScheduler ensures the scheduler Deployment. It reports and goes on:
// a scheduler that is not up keeps no volume service from being rendered, but
// while a new release rolls out.
func (r *Reconciler) reconcileScheduler(ctx context.Context, p *Pass) (ctrl.Result, error) {
	live, err := apply(ctx, p, workload.Scheduler(p.Cinder, p.Facts.Facts))
	missing, err := r.awaitedOf(p, live, err)
	if err != nil {
		return ctrl.Result{}, err
	}
	if missing != "" {
		p.setFalse(v1alpha1.ConditionSchedulerReady, v1alpha1.ReasonWaitingForScheduler, "%s", missing)
		return r.rollGate(p), nil
	}
	p.setTrue(v1alpha1.ConditionSchedulerReady, v1alpha1.ReasonSchedulerReady, "the scheduler is available")
	return ctrl.Result{}, nil
}
