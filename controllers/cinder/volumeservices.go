// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// reconcileVolumeServices ensures one Deployment per projected backend, deletes
// those of backends that left, and drives the detach of backends that are being
// deleted.
func (r *Reconciler) reconcileVolumeServices(ctx context.Context, p *Pass) (ctrl.Result, error) {
	backends := p.Facts.SortedBackends()
	keep := map[string]bool{}
	var services []v1alpha1.VolumeServiceStatus
	var waiting []string
	for _, b := range backends {
		name := render.VolumeName(p.Cinder.Name, b.Name)
		keep[name] = true
		services = append(services, v1alpha1.VolumeServiceStatus{Backend: b.Name, Host: render.VolumeHost(p.Cinder.Name, b.Name)})
		live, err := r.volumeDeployment(ctx, p, b)
		missing, err := r.awaitedOf(p, live, err)
		if err != nil {
			return ctrl.Result{}, err
		}
		if missing != "" {
			waiting = append(waiting, missing)
		}
	}
	for i := range p.Facts.Detaching {
		// It goes when its backend's turn comes.
		keep[render.VolumeName(p.Cinder.Name, p.Facts.Detaching[i].Name)] = true
	}
	if err := removeVolumeDeployments(ctx, p, keep); err != nil {
		return ctrl.Result{}, err
	}
	p.Cinder.Status.VolumeServices = services
	detach, err := r.detachBackends(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	p.reportVolumeServices(len(backends), waiting, detach)
	switch {
	case detach.pending:
		return ctrl.Result{RequeueAfter: r.Intervals.DeploymentPolling}, nil
	case len(waiting) > 0:
		return r.rollGate(p), nil
	}
	return ctrl.Result{}, nil
}

// reportVolumeServices sets VolumeServicesReady. A Job that waits for a human
// outranks what ends by itself.
func (p *Pass) reportVolumeServices(projected int, waiting []string, detach detachReport) {
	typ := v1alpha1.ConditionVolumeServicesReady
	if detach.waiting != "" {
		waiting = append([]string{detach.waiting}, waiting...)
	}
	switch {
	case len(detach.failed) > 0:
		p.setFalse(typ, v1alpha1.ReasonServiceRemoveJobFailed, "%s", strings.Join(detach.failed, "; "))
	case len(waiting) > 0:
		p.setFalse(typ, v1alpha1.ReasonWaitingForVolumeServices, "%s", strings.Join(waiting, "; "))
	case projected == 0:
		p.setFalse(typ, v1alpha1.ReasonNoBackends, "no CinderBackend is rendered, so no volume service runs")
	default:
		p.setTrue(typ, v1alpha1.ReasonAllVolumeServicesReady, "every volume service is available")
	}
}

// volumeDeployment applies the Deployment of one backend; of a held one it only
// looks at what is there.
func (r *Reconciler) volumeDeployment(ctx context.Context, p *Pass, b render.Backend) (*appsv1.Deployment, error) {
	if p.Facts.HeldBackends[b.Name] {
		live := &appsv1.Deployment{}
		return live, p.Scope.Get(ctx, render.VolumeName(p.Cinder.Name, b.Name), live)
	}
	return apply(ctx, p, workload.Volume(p.Cinder, p.Facts.Facts, b))
}

// removeVolumeDeployments deletes the volume Deployments that are not kept. They
// are told by their component, whatever their names were cut to.
func removeVolumeDeployments(ctx context.Context, p *Pass, keep map[string]bool) error {
	var list appsv1.DeploymentList
	if err := p.Scope.List(ctx, &list, nil); err != nil {
		return err
	}
	leaving := slices.DeleteFunc(list.Items, func(d appsv1.Deployment) bool {
		return keep[d.Name] || !d.DeletionTimestamp.IsZero() || !strings.HasPrefix(d.Labels[render.LabelComponent], "volume-")
	})
	for i := range leaving {
		if _, err := p.Scope.Delete(ctx, &leaving[i], metav1.DeletePropagationForeground); err != nil {
			return err
		}
	}
	return nil
}
