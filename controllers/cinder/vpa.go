// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

// reconcileVPA answers for the VerticalPodAutoscalers of the workloads.
func (r *Reconciler) reconcileVPA(_ context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionVPAReady
	field := verticalField(&p.Cinder.Spec)
	if field == "" {
		p.setTrue(typ, v1alpha1.ReasonVPANotRequired, "no workload asks for vertical autoscaling")
		return ctrl.Result{}, nil
	}
	served, err := p.Target.Serves(projection.VerticalPodAutoscaler)
	switch _, unavailable := clusters.AsUnavailable(err); {
	case unavailable:
		return ctrl.Result{}, err
	case err != nil:
		p.setFalse(typ, v1alpha1.ReasonCapabilityProbeFailed, "whether %s serves VerticalPodAutoscalers could not be asked: %s", p.Target, err)
		return ctrl.Result{RequeueAfter: r.Intervals.DeploymentPolling}, nil
	case !served:
		p.setFalse(typ, v1alpha1.ReasonVPANotInstalled, "%s is set, but %s does not serve VerticalPodAutoscalers", field, p.Target)
	default:
		p.notSupported(typ, field)
	}
	return ctrl.Result{}, nil
}

// verticalField names the first workload that asks for vertical autoscaling.
func verticalField(spec *v1alpha1.CinderSpec) string {
	for _, w := range []struct {
		component v1alpha1.Component
		field     string
	}{
		{v1alpha1.ComponentAPI, "spec.api"},
		{v1alpha1.ComponentScheduler, "spec.scheduler"},
		{v1alpha1.ComponentVolume, "spec.volume"},
		{v1alpha1.ComponentBackup, "spec.backup"},
	} {
		if d := spec.DeploymentSpecOf(w.component); d != nil && d.VerticalAutoscaling != nil {
			return w.field + ".deployment.verticalAutoscaling"
		}
	}
	return ""
}
