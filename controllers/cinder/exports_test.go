// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func (f *fixture) exporting(name, options string) {
	f.Helper()
	b := &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.ns},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName}, Type: v1alpha1.CinderBackendTypeNFS,
			NFS: &v1alpha1.NFSBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{Server: "nfs.example.org", Path: "/shared", MountOptions: options}},
		},
	}
	f.create(suite.hub, b)
	f.sayCredentials(b, &b.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsNotRequired)
}

func TestTheOptionsOfASharedExportAreThoseOfTheFirstBackendAndTheOthersAreToldOnce(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	f.exporting("nfs-a", "nfsvers=4.1,soft")
	f.exporting("nfs-b", "nfsvers=4.2,hard")
	f.exporting("nfs-c", "nfsvers=4.1,soft")
	f.backupBackend("backups")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()

	f.awaitOneEvent("SharedExportMountOptionsIgnored", corev1.EventTypeWarning, "nfs.example.org:/shared", "CinderBackend nfs-a", "those of nfs-b")
	var backup appsv1.Deployment
	f.awaitChild(&backup, "cinder-backup")
	mounted := 0
	for _, v := range backup.Spec.Template.Spec.Volumes {
		if v.CSI != nil && v.CSI.VolumeAttributes["share"] == "/shared" {
			mounted++
			if got := v.CSI.VolumeAttributes["mountOptions"]; got != "nfsvers=4.1,soft" {
				t.Errorf("the export is mounted with %q", got)
			}
		}
	}
	if mounted != 1 {
		t.Errorf("the backup service mounts the export %d times", mounted)
	}

	f.runPass(2)
	f.awaitReady()
	f.awaitOneEvent("SharedExportMountOptionsIgnored", corev1.EventTypeWarning, "nfs-b")
}
