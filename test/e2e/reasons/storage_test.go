// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var storageCases = []testCase{{"storage", plain, (*fixture).storage}}

const cephKey = "AQBzm0VoQ2x9JBAAeT1n6hV4cRk8yL2oWq5dXg=="

func pool(name string) v1alpha1.RBDPoolSpec {
	return v1alpha1.RBDPoolSpec{
		Pool: name, User: name, Monitors: []v1alpha1.CephHost{"mon.example.org"}, Networks: []v1alpha1.IPv4CIDR{"192.0.2.0/24"},
		KeySecretRef: v1alpha1.SecretNameRefSpec{Name: "ceph"},
	}
}

// satelliteRows are rows of one kind of storage.
type satelliteRows string

func (k satelliteRows) is(typ, reason string) []row {
	return rows(string(k), typ, metav1.ConditionTrue, reason)
}

func (k satelliteRows) not(typ, reason string) []row {
	return rows(string(k), typ, metav1.ConditionFalse, reason)
}

// storage of both kinds and both types is there before its Cinder, waits for its
// key, is projected, and is detached.
func (f *fixture) storage() {
	f.cinder = harness.Cinder(f.ns, "cinder", f.target)
	nfs, ceph := harness.Backend(f.cinder, "nfs"), harness.Backend(f.cinder, "ceph")
	ceph.Spec.Type, ceph.Spec.NFS, ceph.Spec.RBD = v1alpha1.CinderBackendTypeRBD, nil, &v1alpha1.RBDBackendSpec{RBDPoolSpec: pool("volumes")}
	nfsBackups, cephBackups := harness.BackupBackend(f.cinder, "nfs-backups"), harness.BackupBackend(f.cinder, "ceph-backups")
	cephBackups.Spec.Type, cephBackups.Spec.NFS, cephBackups.Spec.RBD = v1alpha1.CinderBackupBackendTypeRBD, nil, &v1alpha1.RBDBackupBackendSpec{RBDPoolSpec: pool("backups")}
	pairs := []struct {
		kind      satelliteRows
		nfs, ceph client.Object
	}{{backend, nfs, ceph}, {backupBackend, nfsBackups, cephBackups}}
	f.holdJob("cinder-db-sync")
	for _, p := range pairs {
		lab.Hub.Create(f, p.ceph)
		f.reaches(p.ceph, slices.Concat(p.kind.not(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonWaitingForParent),
			p.kind.not(v1alpha1.ConditionConfigProjected, v1alpha1.ReasonWaitingForProjection), p.kind.not(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady))...)
	}

	lab.Hub.Create(f, f.cinder)
	for _, p := range pairs {
		f.reaches(p.ceph, p.kind.not(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonWaitingForCredentials)...)
	}
	f.says(not(v1alpha1.ConditionBackendsReady, v1alpha1.ReasonWaitingForBackends), not(v1alpha1.ConditionBackupBackendReady, v1alpha1.ReasonWaitingForBackupBackend))
	for _, p := range pairs {
		lab.Hub.Create(f, p.nfs)
		f.reaches(p.nfs, append(p.kind.is(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonCredentialsNotRequired),
			p.kind.not(v1alpha1.ConditionConfigProjected, v1alpha1.ReasonWaitingForProjection)...)...)
	}
	f.says(is(v1alpha1.ConditionBackupBackendReady, v1alpha1.ReasonBackupBackendProjected))
	f.cluster.Create(f, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: "ceph"}, StringData: map[string]string{"userKey": cephKey}})
	for _, p := range pairs {
		f.reaches(p.ceph, p.kind.is(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonCredentialsAvailable)...)
	}
	f.says(is(v1alpha1.ConditionBackendsReady, v1alpha1.ReasonAllBackendsProjected), not(v1alpha1.ConditionBackupBackendReady, v1alpha1.ReasonMultipleBackupBackends))

	f.endJobs("cinder-db-sync")
	lab.Hub.Delete(f, cephBackups)
	for kind, obj := range map[satelliteRows]client.Object{backend: ceph, backupBackend: nfsBackups} {
		f.reaches(obj, append(kind.is(v1alpha1.ConditionConfigProjected, v1alpha1.ReasonConfigProjected), kind.is(v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)...)...)
	}
	f.detach(nfs)
}

// detach is held by a Job that fails.
func (f *fixture) detach(b *v1alpha1.CinderBackend) {
	f.Helper()
	name := "cinder-" + b.Name + "-service-remove"
	f.holdJob(name)
	lab.WaitReady(f, harness.ReadyTimeout, f.cinder)
	lab.Hub.Delete(f, b)
	f.reaches(b, satelliteRows(backend).not(v1alpha1.ConditionReady, v1alpha1.ReasonDetaching)...)
	f.runningJob(name)
	f.failJob(name)
	f.says(not(v1alpha1.ConditionVolumeServicesReady, v1alpha1.ReasonServiceRemoveJobFailed))
}
