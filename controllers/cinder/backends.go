// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/conf"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// reconcileBackends renders every attached, credential-ready volume backend into
// its own Secret and sweeps those that nothing projects anymore. It never ends
// the pass: a Cinder without storage still serves its API.
func (r *Reconciler) reconcileBackends(ctx context.Context, p *Pass) (ctrl.Result, error) {
	backends, detaching, err := r.attachedBackends(ctx, p.Cinder)
	if err != nil {
		return ctrl.Result{}, err
	}
	p.Facts.HeldBackends, p.Facts.Detaching = map[string]bool{}, detaching
	var waiting, unread []string
	for i := range backends {
		b := &backends[i]
		switch state, why := credentialsOf(b.Status.Conditions); state {
		case credentialsReady:
			fault, err := r.projectBackend(ctx, p, b)
			if err != nil {
				return ctrl.Result{}, err
			}
			if fault != "" {
				waiting = append(waiting, skippedText(b.Name, fault))
			}
		case credentialsUnknown:
			held, err := r.holdBackend(ctx, p, b)
			if err != nil {
				return ctrl.Result{}, err
			}
			if !held {
				unread = append(unread, b.Name)
				waiting = append(waiting, fmt.Sprintf("%s (%s)", b.Name, why))
			}
		default:
			waiting = append(waiting, fmt.Sprintf("%s (%s)", b.Name, why))
		}
	}
	if err := r.sweepBackends(ctx, p, unread); err != nil {
		return ctrl.Result{}, err
	}
	r.reportBackends(p, len(backends), waiting)
	return ctrl.Result{}, nil
}

// attachedBackends lists the volume backends of a Cinder in name order: those
// that are there to stay, and those that are leaving and held by our finalizer.
// A deleted one that something else holds has left already.
func (r *Reconciler) attachedBackends(ctx context.Context, cr *v1alpha1.Cinder) (attached, detaching []v1alpha1.CinderBackend, err error) {
	var list v1alpha1.CinderBackendList
	if err := r.hub.List(ctx, &list, client.InNamespace(cr.Namespace), client.MatchingFields{IndexCinderRef: cr.Name}); err != nil {
		return nil, nil, fmt.Errorf("list the CinderBackends of Cinder %s/%s: %w", cr.Namespace, cr.Name, err)
	}
	for _, b := range sortedByName(list.Items, func(b *v1alpha1.CinderBackend) string { return b.Name }) {
		switch {
		case b.DeletionTimestamp.IsZero():
			attached = append(attached, b)
		case controllerutil.ContainsFinalizer(&b, v1alpha1.FinalizerServiceRemove):
			detaching = append(detaching, b)
		}
	}
	return attached, detaching, nil
}

// projectBackend renders one backend. A fault of the backend itself is returned
// as text: it holds back no other.
func (r *Reconciler) projectBackend(ctx context.Context, p *Pass, b *v1alpha1.CinderBackend) (fault string, err error) {
	var pool *v1alpha1.RBDPoolSpec
	if b.Spec.Type == v1alpha1.CinderBackendTypeRBD && b.Spec.RBD != nil {
		pool = &b.Spec.RBD.RBDPoolSpec
	}
	key, fault, err := cephKey(ctx, p, pool)
	if err != nil {
		return "", err
	}
	var files map[string]string
	if fault == "" {
		files, fault = rendered(conf.Backend(p.Cinder.Name, b, key))
	}
	if fault != "" {
		r.skipped(p, v1alpha1.ConditionBackendsReady, EventCinderBackendSkipped, v1alpha1.KindCinderBackend, b.Name, fault)
		return fault, nil
	}
	base := render.BackendBase(p.Cinder.Name, b.Name)
	name, err := applyRevision(ctx, p, base, derivedSecret(p.Cinder, base, secretData(files)))
	if err != nil {
		return "", err
	}
	p.Facts.Backends = append(p.Facts.Backends, render.NewBackend(b, name, key))
	return "", p.Scope.PruneRevisions(ctx, &corev1.Secret{}, base, name)
}

// holdBackend keeps the live projection of a backend whose credentials could not
// be read; false when there is none.
func (r *Reconciler) holdBackend(ctx context.Context, p *Pass, b *v1alpha1.CinderBackend) (bool, error) {
	var live appsv1.Deployment
	err := p.Scope.Get(ctx, render.VolumeName(p.Cinder.Name, b.Name), &live)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	secret := workload.MountedBackend(live.Spec.Template)
	if !isRevision(secret, render.BackendBase(p.Cinder.Name, b.Name)) {
		return false, nil
	}
	key, err := projectedKey(ctx, p, secret)
	if err != nil {
		return false, err
	}
	p.Facts.Backends = append(p.Facts.Backends, render.NewBackend(b, secret, key))
	p.Facts.HeldBackends[b.Name] = true
	return true, nil
}

// sweepBackends removes the Secrets of backends that are not projected. Those of
// a backend that is being detached go at the end of it, and those of one whose
// needs could not be read stay: its Deployment may be on its way.
func (r *Reconciler) sweepBackends(ctx context.Context, p *Pass, unread []string) error {
	keep := map[string]bool{}
	for _, name := range unread {
		keep[render.BackendBase(p.Cinder.Name, name)] = true
	}
	for _, b := range p.Facts.Backends {
		keep[render.BackendBase(p.Cinder.Name, b.Name)] = true
	}
	for i := range p.Facts.Detaching {
		keep[render.BackendBase(p.Cinder.Name, p.Facts.Detaching[i].Name)] = true
	}
	return sweepBases(ctx, p, render.BackendBase(p.Cinder.Name, ""), keep)
}

// sweepBases removes every revision of Secrets whose base starts with prefix and
// is not to be kept, once no pod template names it: its Deployment goes, or is
// rendered without it, in the step of its workload, which a pass that waits for
// the database does not reach. What that step changes brings the next pass.
func sweepBases(ctx context.Context, p *Pass, prefix string, keep map[string]bool) error {
	bases, err := p.Scope.RevisionBases(ctx, &corev1.Secret{})
	if err != nil {
		return err
	}
	for _, base := range bases {
		if !strings.HasPrefix(base, prefix) || keep[base] {
			continue
		}
		if err := p.Scope.SweepUnnamed(ctx, &corev1.Secret{}, base); err != nil {
			return err
		}
	}
	return nil
}

// reportBackends sets BackendsReady. While nothing waits but what could not be
// read, the condition stays as it was last seen.
func (r *Reconciler) reportBackends(p *Pass, attached int, waiting []string) {
	typ := v1alpha1.ConditionBackendsReady
	switch {
	case attached == 0:
		p.setTrue(typ, v1alpha1.ReasonNoBackends, "no CinderBackend is attached")
	case len(waiting) > 0:
		p.setFalse(typ, v1alpha1.ReasonWaitingForBackends, "waiting for CinderBackends: %s", strings.Join(waiting, ", "))
	case len(p.Facts.HeldBackends) > 0 && p.answered(typ):
		// What a backend needs could not be read: the answer stands.
	default:
		p.setTrue(typ, v1alpha1.ReasonAllBackendsProjected, "every attached CinderBackend is rendered")
	}
}
