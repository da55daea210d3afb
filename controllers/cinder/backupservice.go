// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// reconcileBackupService ensures the backup Deployment while a backup target is
// projected, and deletes it otherwise.
func (r *Reconciler) reconcileBackupService(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionBackupServiceReady
	name := render.BackupName(p.Cinder.Name)
	if p.Facts.Backup == nil {
		if err := p.removeBackup(ctx, name); err != nil {
			return ctrl.Result{}, err
		}
		r.tellNotes(p, workload.Notes{})
		p.setTrue(typ, v1alpha1.ReasonBackupNotConfigured, "no backup target is rendered, so no backup service runs")
		return ctrl.Result{}, nil
	}
	live, notes, err := r.backupDeployment(ctx, p, name)
	missing, err := r.awaitedOf(p, live, err)
	if err != nil {
		return ctrl.Result{}, err
	}
	suffix := r.tellNotes(p, notes)
	if missing != "" {
		p.setFalse(typ, v1alpha1.ReasonWaitingForBackupService, "%s%s", missing, suffix)
		return r.rollGate(p), nil
	}
	p.setTrue(typ, v1alpha1.ReasonBackupServiceReady, "the backup service is available"+suffix)
	return ctrl.Result{}, nil
}

// removeBackup deletes the Deployment with its pod first: one that comes back
// must not start beside a pod of the same host identity.
func (p *Pass) removeBackup(ctx context.Context, name string) error {
	live := &appsv1.Deployment{}
	err := p.Scope.Get(ctx, name, live)
	if err == nil && live.DeletionTimestamp.IsZero() {
		_, err = p.Scope.Delete(ctx, live, metav1.DeletePropagationForeground)
	}
	return client.IgnoreNotFound(err)
}

func (r *Reconciler) backupDeployment(ctx context.Context, p *Pass, name string) (*appsv1.Deployment, workload.Notes, error) {
	if p.Facts.HeldBackup {
		live := &appsv1.Deployment{}
		return live, workload.Notes{}, p.Scope.Get(ctx, name, live)
	}
	intent, notes := workload.Backup(p.Cinder, p.Facts.Facts)
	live, err := apply(ctx, p, intent)
	return live, notes, err
}

// tellNotes warns of what the backup pod cannot have both ways, and returns the
// text for the condition's message: by that text another process knows that the
// warning was given.
func (r *Reconciler) tellNotes(p *Pass, notes workload.Notes) string {
	if p.Facts.HeldBackup {
		// Its pod was not rendered, so nothing is known of it.
		return ""
	}
	type note struct {
		fault   lasting
		backend string // whose fault it is
		text    string
	}
	var all []note
	for _, s := range notes.SharedExports {
		all = append(all, note{lasting{EventSharedExportOptionsIgnored, s.Export + " of " + s.Ignored}, s.Ignored, fmt.Sprintf(
			"export %s is mounted once, with the options of CinderBackend %s: those of %s are ignored", s.Export, s.Kept, s.Ignored)})
	}
	for _, c := range notes.KeyringConflicts {
		all = append(all, note{lasting{EventCephKeyringConflict, c.Path + " of " + c.Dropped}, c.Backend,
			fmt.Sprintf("%s carries the key of %s: that of %s is left out", c.Path, c.Kept, c.Dropped)})
	}
	was := meta.FindStatusCondition(p.stored, v1alpha1.ConditionBackupServiceReady)
	suffix := ""
	for _, n := range all {
		suffix += "; " + n.text
		r.warnOnce(p, n.fault, p.satellite(v1alpha1.KindCinderBackend, n.backend), n.text, was != nil && strings.Contains(was.Message, n.text))
	}
	for _, reason := range []string{EventSharedExportOptionsIgnored, EventCephKeyringConflict} {
		r.settle(p, reason, func(subject string) bool {
			return slices.ContainsFunc(all, func(n note) bool { return n.fault == lasting{reason, subject} })
		})
	}
	return suffix
}
