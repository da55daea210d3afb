// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/projection"
)

// abandoned words the note of the children that stay behind somewhere, and logs
// it whole: an event is cut to what the API admits.
func (r *Reconciler) abandoned(ctx context.Context, cr *v1alpha1.Cinder, v verdict) string {
	names := v.names
	if names == nil {
		names = childNames(cr, r.backupTargets(ctx, cr))
	}
	log.FromContext(ctx).Info("children abandoned", "cinder", cr.Name, "namespace", cr.Namespace, "where", v.left, "children", names)
	return listNote(fmt.Sprintf("children in namespace %s stay behind on %s:", cr.Namespace, v.left), names)
}

// listBackupTargets names the backup targets of a Cinder. They are no more than part
// of a name: what cannot be looked up is told as a pattern.
func (r *Reconciler) listBackupTargets(ctx context.Context, cr *v1alpha1.Cinder) []string {
	list := &v1alpha1.CinderBackupBackendList{}
	err := r.hub.List(ctx, list, client.InNamespace(cr.Namespace), client.MatchingFields{IndexCinderRef: cr.Name})
	if err != nil || len(list.Items) == 0 {
		return []string{"*"}
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// childNames lists the children as far as they are known without their cluster:
// by what the spec asks for, what the status remembers, and the backup targets.
func childNames(cr *v1alpha1.Cinder, backupTargets []string) []string {
	var names []string
	add := func(kind, name string, there bool) {
		if there {
			names = append(names, kind+" "+name)
		}
	}
	spec, managed := &cr.Spec, cr.Spec.Database.ClusterRef != nil
	workload := func(component v1alpha1.Component, name string) {
		add("Deployment", name, true)
		d := spec.DeploymentSpecOf(component)
		add(projection.VerticalPodAutoscaler.Kind, name, d != nil && d.VerticalAutoscaling != nil)
	}
	workload(v1alpha1.ComponentAPI, cr.Name)
	workload(v1alpha1.ComponentScheduler, render.SchedulerName(cr.Name))
	for _, v := range cr.Status.VolumeServices {
		workload(v1alpha1.ComponentVolume, render.VolumeName(cr.Name, v.Backend))
	}
	backup := meta.FindStatusCondition(cr.Status.Conditions, v1alpha1.ConditionBackupServiceReady)
	withBackup := backup != nil && backup.Reason != v1alpha1.ReasonBackupNotConfigured
	if withBackup {
		workload(v1alpha1.ComponentBackup, render.BackupName(cr.Name))
	}
	for _, gvk := range []string{projection.MariaDBDatabase.Kind, projection.MariaDBUser.Kind, projection.MariaDBGrant.Kind} {
		add(gvk, cr.Name, managed)
	}
	add("Service", cr.Name, true)
	add("PodDisruptionBudget", cr.Name, true)
	add("HorizontalPodAutoscaler", cr.Name, spec.Autoscaling != nil)
	add("HTTPRoute", cr.Name, spec.Gateway != nil)
	add("NetworkPolicy", cr.Name, spec.NetworkPolicy != nil)
	add("CronJob", render.DBPurgeName(cr.Name), true)
	add("Job", render.DBSyncName(cr.Name), true)
	add("Secret", render.DBConnectionName(cr.Name), true)
	add("Secret", render.TransportURLName(cr.Name), true)
	add("Secret", render.ServiceUserName(cr.Name), spec.EffectiveServiceUser() != nil)
	for _, v := range cr.Status.VolumeServices {
		add("the revisions of Secret", render.BackendBase(cr.Name, v.Backend), true)
	}
	for _, name := range backupTargets {
		add("the revisions of Secret", render.BackupBase(cr.Name, name), withBackup)
	}
	add("the revisions of ConfigMap", render.ConfigBase(cr.Name), true)
	return names
}
