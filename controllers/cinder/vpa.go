// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/internal/render/workload"
	"c5c3.io/cinder-operator/projection"
)

// reconcileVPA applies the VerticalPodAutoscalers of the workloads and removes
// those whose workload went or asks for none any more.
func (r *Reconciler) reconcileVPA(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionVPAReady
	field := verticalField(&p.Cinder.Spec)
	served, err := p.Target.Serves(projection.VerticalPodAutoscaler)
	if err != nil {
		if _, unavailable := clusters.AsUnavailable(err); unavailable {
			return ctrl.Result{}, err
		}
		p.setFalse(typ, v1alpha1.ReasonCapabilityProbeFailed, "whether %s serves VerticalPodAutoscalers could not be asked: %s", p.Target, err)
		return ctrl.Result{RequeueAfter: r.Intervals.DeploymentPolling}, nil
	}
	if !served && field != "" {
		// The registry's next change tells when the API appears.
		p.setFalse(typ, v1alpha1.ReasonVPANotInstalled, "%s is set, but %s does not serve VerticalPodAutoscalers", field, p.Target)
		return ctrl.Result{}, nil
	}
	if served {
		if err := p.projectVPAs(ctx); err != nil {
			if _, unavailable := clusters.AsUnavailable(err); unavailable {
				return ctrl.Result{}, err
			}
			// The autoscaler's own admission speaks here: its refusal is no failure of
			// the pass.
			p.setFalse(typ, v1alpha1.ReasonVPAError, "%s", err)
			return ctrl.Result{RequeueAfter: r.Intervals.DeploymentPolling}, nil
		}
	}
	if field == "" {
		p.setTrue(typ, v1alpha1.ReasonVPANotRequired, "no workload asks for vertical autoscaling")
		return ctrl.Result{}, nil
	}
	p.setTrue(typ, v1alpha1.ReasonVPAReady, "the VerticalPodAutoscalers are in place")
	return ctrl.Result{}, nil
}

// projectVPAs brings the live ones in line with what is wanted. Every one of ours
// is looked at, so that one of a backend that left is found without its name.
func (p *Pass) projectVPAs(ctx context.Context) error {
	keep := map[string]bool{}
	for _, intent := range workload.VPAs(p.Cinder, p.Facts.Facts) {
		keep[intent.GetName()] = true
		if _, err := apply(ctx, p, intent); err != nil {
			return err
		}
	}
	live := &unstructured.UnstructuredList{}
	live.SetGroupVersionKind(projection.VerticalPodAutoscaler.GroupVersion().WithKind(projection.VerticalPodAutoscaler.Kind + "List"))
	if err := p.Scope.List(ctx, live, nil); err != nil {
		return err
	}
	for i := range live.Items {
		item := &live.Items[i]
		if keep[item.GetName()] || item.GetDeletionTimestamp() != nil {
			continue
		}
		if _, err := p.Scope.Delete(ctx, item, metav1.DeletePropagationBackground); err != nil {
			return err
		}
	}
	return nil
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
