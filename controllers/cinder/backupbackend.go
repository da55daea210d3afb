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

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/conf"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// reconcileBackupBackend renders the single attached, credential-ready backup
// target. Like the Backends step it never ends the pass.
func (r *Reconciler) reconcileBackupBackend(ctx context.Context, p *Pass) (ctrl.Result, error) {
	targets, err := r.attachedBackupBackends(ctx, p.Cinder)
	if err != nil {
		return ctrl.Result{}, err
	}
	choice := chooseBackupTarget(targets)
	fault := ""
	switch {
	case choice.target != nil:
		fault, err = r.projectBackup(ctx, p, choice.target)
	case len(choice.ready) == 0:
		err = r.holdBackup(ctx, p, choice.unknown)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	keep := map[string]bool{}
	for _, t := range choice.unknown {
		// What it needs could not be read: its Deployment may be on its way.
		keep[render.BackupBase(p.Cinder.Name, t.Name)] = true
	}
	if p.Facts.Backup != nil {
		keep[render.BackupBase(p.Cinder.Name, p.Facts.Backup.Name)] = true
	}
	if err := sweepBases(ctx, p, render.BackupBase(p.Cinder.Name, ""), keep); err != nil {
		return ctrl.Result{}, err
	}
	r.reportBackupBackend(p, choice, fault)
	return ctrl.Result{}, nil
}

func (r *Reconciler) attachedBackupBackends(ctx context.Context, cr *v1alpha1.Cinder) ([]v1alpha1.CinderBackupBackend, error) {
	var list v1alpha1.CinderBackupBackendList
	if err := r.hub.List(ctx, &list, client.InNamespace(cr.Namespace), client.MatchingFields{IndexCinderRef: cr.Name}); err != nil {
		return nil, fmt.Errorf("list the CinderBackupBackends of Cinder %s/%s: %w", cr.Namespace, cr.Name, err)
	}
	var attached []v1alpha1.CinderBackupBackend
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			attached = append(attached, list.Items[i])
		}
	}
	return sortedByName(attached, func(b *v1alpha1.CinderBackupBackend) string { return b.Name }), nil
}

// backupChoice is which of the attached backup targets may serve.
type backupChoice struct {
	// target is the one to render, or nil.
	target *v1alpha1.CinderBackupBackend
	// ready, unknown and waiting tell the others by their state.
	ready, waiting []string
	unknown        []*v1alpha1.CinderBackupBackend
}

// chooseBackupTarget picks the only credential-ready target, whatever the others
// wait for; with several it refuses to guess.
func chooseBackupTarget(targets []v1alpha1.CinderBackupBackend) backupChoice {
	var c backupChoice
	for i := range targets {
		t := &targets[i]
		switch state, why := credentialsOf(t.Status.Conditions); state {
		case credentialsReady:
			c.ready = append(c.ready, t.Name)
			c.target = t
		case credentialsUnknown:
			c.unknown = append(c.unknown, t)
			c.waiting = append(c.waiting, fmt.Sprintf("%s (%s)", t.Name, why))
		default:
			c.waiting = append(c.waiting, fmt.Sprintf("%s (%s)", t.Name, why))
		}
	}
	if len(c.ready) > 1 {
		c.target = nil
	}
	return c
}

// projectBackup renders the target. A fault of the target is returned as text.
func (r *Reconciler) projectBackup(ctx context.Context, p *Pass, t *v1alpha1.CinderBackupBackend) (fault string, err error) {
	var pool *v1alpha1.RBDPoolSpec
	if t.Spec.Type == v1alpha1.CinderBackupBackendTypeRBD && t.Spec.RBD != nil {
		pool = &t.Spec.RBD.RBDPoolSpec
	}
	key, fault, err := cephKey(ctx, p, pool)
	if err != nil {
		return "", err
	}
	var files map[string]string
	if fault == "" {
		files, fault = rendered(conf.Backup(p.Cinder.Name, t, key))
	}
	if fault != "" {
		r.skipped(p, v1alpha1.ConditionBackupBackendReady, EventCinderBackupBackendSkipped, v1alpha1.KindCinderBackupBackend, t.Name, fault)
		return fault, nil
	}
	base := render.BackupBase(p.Cinder.Name, t.Name)
	name, err := applyRevision(ctx, p, base, derivedSecret(p.Cinder, base, secretData(files)))
	if err != nil {
		return "", err
	}
	p.Facts.Backup = render.NewBackupTarget(t, name, key)
	return "", p.Scope.PruneRevisions(ctx, &corev1.Secret{}, base, name)
}

// holdBackup keeps the live projection of a target whose credentials could not
// be read.
func (r *Reconciler) holdBackup(ctx context.Context, p *Pass, unknown []*v1alpha1.CinderBackupBackend) error {
	if len(unknown) == 0 {
		return nil
	}
	var live appsv1.Deployment
	err := p.Scope.Get(ctx, render.BackupName(p.Cinder.Name), &live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	secret := workload.MountedBackup(live.Spec.Template)
	for _, t := range unknown {
		if isRevision(secret, render.BackupBase(p.Cinder.Name, t.Name)) {
			// Its Deployment is not rendered, so nothing needs to know the key.
			p.Facts.Backup = render.NewBackupTarget(t, secret, "")
			p.Facts.HeldBackup = true
			return nil
		}
	}
	return nil
}

func (r *Reconciler) reportBackupBackend(p *Pass, c backupChoice, fault string) {
	typ := v1alpha1.ConditionBackupBackendReady
	switch {
	case fault != "":
		p.setFalse(typ, v1alpha1.ReasonWaitingForBackupBackend, "waiting for CinderBackupBackend: %s", skippedText(c.target.Name, fault))
	case c.target != nil:
		p.setTrue(typ, v1alpha1.ReasonBackupBackendProjected, fmt.Sprintf("CinderBackupBackend %s is rendered", c.target.Name))
	case len(c.ready) > 1:
		p.setFalse(typ, v1alpha1.ReasonMultipleBackupBackends, "more than one CinderBackupBackend is ready and none is rendered: %s", strings.Join(c.ready, ", "))
	case p.Facts.HeldBackup && p.answered(typ):
		// What the target needs could not be read: the answer stands.
	case len(c.waiting) > 0:
		p.setFalse(typ, v1alpha1.ReasonWaitingForBackupBackend, "waiting for CinderBackupBackend: %s", strings.Join(c.waiting, ", "))
	default:
		p.setTrue(typ, v1alpha1.ReasonNoBackupBackend, "no CinderBackupBackend is attached")
	}
}
