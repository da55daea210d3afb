// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/conf"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// reconcileConfig renders the shared configuration into an immutable ConfigMap.
// What cannot be rendered leaves the running pods on the configuration that they
// have; the pass goes on.
func (r *Reconciler) reconcileConfig(ctx context.Context, p *Pass) (ctrl.Result, error) {
	policy, fault, err := r.policyBase(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	var data map[string]string
	if fault == "" {
		var overridden []string
		var renderErr error
		if data, overridden, renderErr = conf.Shared(p.Cinder, policy); renderErr != nil {
			fault = renderErr.Error()
		} else {
			r.reportExtraConfig(p, overridden)
		}
	}
	if fault != "" {
		p.setFalse(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError, "%s", r.withSharedVhost(p, "the configuration is not rendered: "+fault))
		return ctrl.Result{}, r.keepLastConfig(ctx, p)
	}
	base := render.ConfigBase(p.Cinder.Name)
	name, err := applyRevision(ctx, p, base, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: base, Namespace: p.Cinder.Namespace, Labels: render.CommonLabels(p.Cinder.Name)},
		Data:       data,
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	p.Facts.ConfigMapName = name
	p.Facts.ConfigKeys = slices.Sorted(maps.Keys(data))
	if err := p.Scope.PruneRevisions(ctx, &corev1.ConfigMap{}, base, name); err != nil {
		return ctrl.Result{}, err
	}
	p.setTrue(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretsAvailable, r.withSharedVhost(p, "credentials and configuration are in place"))
	return ctrl.Result{}, nil
}

// withSharedVhost appends what was found out about the virtual host to the last
// word on SecretsReady, and warns of it once.
func (r *Reconciler) withSharedVhost(p *Pass, message string) string {
	shared := lasting{reason: EventSharedBrokerVhost}
	switch {
	case p.vhostUnseen:
		return message
	case p.sharedVhost == "":
		r.told.over(p.Cinder, shared)
		return message
	}
	stored := meta.FindStatusCondition(p.stored, v1alpha1.ConditionSecretsReady)
	r.warnOnce(p, shared, nil, p.sharedVhost, stored != nil && strings.HasSuffix(stored.Message, "; "+p.sharedVhost))
	return message + "; " + p.sharedVhost
}

// policyBase reads the policy file that spec.policyOverrides names.
func (r *Reconciler) policyBase(ctx context.Context, p *Pass) (text, fault string, err error) {
	overrides := p.Cinder.Spec.PolicyOverrides
	if overrides == nil || overrides.ConfigMapRef == nil {
		return "", "", nil
	}
	name := overrides.ConfigMapRef.Name
	cm, err := p.Target.Inputs().ConfigMap(ctx, types.NamespacedName{Namespace: p.Cinder.Namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return "", fmt.Sprintf("ConfigMap %s/%s of spec.policyOverrides does not exist on %s", p.Cinder.Namespace, name, p.Target), nil
	}
	if err != nil {
		return "", "", fmt.Errorf("get ConfigMap %s/%s on %s: %w", p.Cinder.Namespace, name, p.Target, err)
	}
	text, ok := cm.Data[render.KeyPolicy]
	if !ok {
		return "", fmt.Sprintf("ConfigMap %s/%s of spec.policyOverrides on %s has no key %q", p.Cinder.Namespace, name, p.Target, render.KeyPolicy), nil
	}
	return text, "", nil
}

// keepLastConfig finds the configuration that the live API pods mount; none on a
// first install.
func (r *Reconciler) keepLastConfig(ctx context.Context, p *Pass) error {
	var live appsv1.Deployment
	if err := p.Scope.Get(ctx, p.Cinder.Name, &live); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	p.Facts.ConfigMapName, p.Facts.ConfigKeys = workload.MountedConfig(live.Spec.Template)
	return nil
}

// reportExtraConfig maintains the informational condition on options of the
// operator's own that the user's overlay sets. The event is given once per
// change of the set.
func (r *Reconciler) reportExtraConfig(p *Pass, overridden []string) {
	typ := v1alpha1.ConditionExtraConfigHealthy
	if len(overridden) == 0 {
		p.setTrue(typ, v1alpha1.ReasonNoOwnedKeysOverridden, "spec.extraConfig overrides no option of the operator's own")
		return
	}
	p.setFalse(typ, v1alpha1.ReasonOwnedKeysOverridden, "spec.extraConfig overrides options of the operator's own: %s", strings.Join(overridden, ", "))
	if p.changed(typ) {
		p.warning(EventExtraConfigOwnedKeyOverride, listNote("spec.extraConfig overrides options of the operator's own:", overridden))
	}
}
