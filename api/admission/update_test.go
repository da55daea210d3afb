// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestNoDeletionIsHeldUp(t *testing.T) {
	type C = v1alpha1.Cinder
	for name, tc := range map[string]struct {
		change func(old, obj *C)
		passes bool
	}{
		"nothing is changed":               {func(_, _ *C) {}, false},
		"a finalizer is removed":           {func(_, obj *C) { obj.Finalizers = []string{"a"} }, true},
		"all finalizers are removed":       {func(_, obj *C) { obj.Finalizers = nil }, true},
		"a finalizer is added":             {func(_, obj *C) { obj.Finalizers = []string{"a", "b", "c"} }, false},
		"a finalizer is replaced":          {func(_, obj *C) { obj.Finalizers = []string{"c"} }, false},
		"a label is changed as well":       {func(_, obj *C) { obj.Finalizers = nil; obj.Labels = map[string]string{"a": "b"} }, false},
		"an annotation is changed as well": {func(_, obj *C) { obj.Finalizers = nil; obj.Annotations = map[string]string{"a": "b"} }, false},
		"an owner is changed as well":      {func(_, obj *C) { obj.Finalizers = nil; obj.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} }, false},
		"the spec is changed as well":      {func(_, obj *C) { obj.Finalizers = nil; obj.Spec.Region = "a" }, false},
		"versions and managers differ": {func(_, obj *C) {
			obj.Finalizers = nil
			obj.ResourceVersion = "2"
			obj.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "a"}}
		}, true},
		"the object is being deleted": {func(_, obj *C) {
			obj.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0)))
			obj.Annotations = map[string]string{"a": "b"}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			old := newCinder()
			old.Finalizers = []string{"a", "b"}
			old.Spec.Image.Tag = ""
			old.Spec.API = &v1alpha1.APISpec{Deployment: &v1alpha1.DeploymentSpec{PriorityClassName: "gone"}}
			obj := old.DeepCopy()
			tc.change(old, obj)
			_, errs := ValidateCinder(obj, old, CinderFacts{})
			if (len(errs) == 0) != tc.passes {
				t.Errorf("passes is %t, want %t:\n%s", len(errs) == 0, tc.passes, list(errs))
			}
		})
	}
	backend, backup := newNFSBackend(), newBackup("backup")
	backend.Name, backend.Finalizers = "nova", []string{v1alpha1.FinalizerServiceRemove}
	backup.Finalizers = []string{"a"}
	released := backend.DeepCopy()
	released.Finalizers = nil
	if _, errs := ValidateCinderBackend(released, backend, CinderBackendFacts{}); len(errs) > 0 {
		t.Errorf("a backend is held:\n%s", list(errs))
	}
	gone := backup.DeepCopy()
	gone.Finalizers = nil
	facts := CinderBackupBackendFacts{Siblings: []v1alpha1.CinderBackupBackend{*newBackup("other")}}
	if _, errs := ValidateCinderBackupBackend(gone, backup, facts); len(errs) > 0 || AsksForSiblings(gone, backup) {
		t.Errorf("a backup target is held:\n%s", list(errs))
	}
}

func TestDefaultsOfACinder(t *testing.T) {
	obj := newCinder()
	withKeystone(obj)
	obj.Spec.Database.TLS = &v1alpha1.DatabaseTLSSpec{}
	obj.Spec.SecretStoreRef = &v1alpha1.SecretStoreRefSpec{Name: "store"}
	want := obj.DeepCopy()
	want.Spec.Cache.Backend = "dogpile.cache.pymemcache"
	want.Spec.Database.TLS.Mode = v1alpha1.DatabaseTLSRequire
	want.Spec.SecretStoreRef.Kind = v1alpha1.SecretStoreKindCluster
	want.Spec.API = &v1alpha1.APISpec{
		Deployment: &v1alpha1.DeploymentSpec{Replicas: ptr.To[int32](3)},
		UWSGI:      &v1alpha1.UWSGISpec{Processes: ptr.To[int32](2), Threads: ptr.To[int32](1), HTTPKeepAlive: ptr.To(true)},
	}
	want.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{Replicas: ptr.To[int32](1)}}
	one := &v1alpha1.DeploymentSpec{Replicas: ptr.To[int32](1), Strategy: &appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}}
	want.Spec.Volume = &v1alpha1.VolumeSpec{Deployment: one}
	want.Spec.Backup = &v1alpha1.BackupSpec{Deployment: one}
	want.Spec.Logging = &v1alpha1.LoggingSpec{Format: v1alpha1.LogFormatText, Level: v1alpha1.LogLevelInfo, Debug: ptr.To(false)}
	want.Spec.ServiceUser = &v1alpha1.ServiceUserSpec{
		Username: "cinder", ProjectName: "service", UserDomainName: "Default", ProjectDomainName: "Default",
		SecretRef: v1alpha1.SecretRefSpec{Name: "user", Key: "password"},
	}
	DefaultCinder(obj)
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, errs := ValidateCinder(obj, nil, CinderFacts{}); len(errs) > 0 {
		t.Errorf("the defaults are not valid:\n%s", list(errs))
	}
}

func TestDefaultsNeverOverrule(t *testing.T) {
	obj := newCinder()
	withKeystone(obj)
	DefaultCinder(obj)
	obj.Spec.API.Deployment.Replicas = ptr.To[int32](5)
	obj.Spec.Scheduler.Deployment.Replicas = ptr.To[int32](2)
	obj.Spec.API.UWSGI = &v1alpha1.UWSGISpec{Processes: ptr.To[int32](7), Threads: ptr.To[int32](3), HTTPKeepAlive: ptr.To(false), Harakiri: ptr.To[int32](9)}
	obj.Spec.Logging = &v1alpha1.LoggingSpec{Format: v1alpha1.LogFormatJSON, Level: v1alpha1.LogLevelError, Debug: ptr.To(true), PerLoggerLevels: map[string]v1alpha1.LogLevel{"a": "INFO"}}
	obj.Spec.ServiceUser.Username = "other"
	obj.Spec.Cache.Backend = "dogpile.cache.memcached"
	obj.Spec.Database.TLS = &v1alpha1.DatabaseTLSSpec{Mode: v1alpha1.DatabaseTLSDisabled}
	obj.Spec.Volume.Deployment.Strategy = &appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}
	want := obj.DeepCopy()
	DefaultCinder(obj)
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestDefaultsOfSatellites(t *testing.T) {
	nfs, rbd := newNFSBackend(), newRBDBackend()
	DefaultCinderBackend(nfs)
	DefaultCinderBackend(rbd)
	if nfs.Spec.NFS.MountOptions != "nfsvers=4.1,soft,timeo=30,retrans=2" || rbd.Spec.RBD.ClusterName != "ceph" {
		t.Errorf("mount options %q, cluster %q", nfs.Spec.NFS.MountOptions, rbd.Spec.RBD.ClusterName)
	}
	nfsBackup, rbdBackup := newNFSBackup(), newBackup("backup")
	DefaultCinderBackupBackend(nfsBackup)
	DefaultCinderBackupBackend(rbdBackup)
	if nfsBackup.Spec.NFS.MountOptions != "nfsvers=4.1,soft,timeo=30,retrans=2" || rbdBackup.Spec.RBD.ClusterName != "ceph" {
		t.Errorf("mount options %q, cluster %q", nfsBackup.Spec.NFS.MountOptions, rbdBackup.Spec.RBD.ClusterName)
	}
	for _, b := range []*v1alpha1.CinderBackupBackend{nfsBackup, rbdBackup} {
		if *b.Spec.FileSize != 52428800 || b.Spec.Compression != v1alpha1.BackupCompressionZlib {
			t.Errorf("chunk %d, compression %q", *b.Spec.FileSize, b.Spec.Compression)
		}
	}
	rbdBackup.Spec.RBD.ClusterName, rbdBackup.Spec.FileSize, rbdBackup.Spec.Compression = "other", ptr.To[int64](1<<20), v1alpha1.BackupCompressionNone
	want := rbdBackup.DeepCopy()
	DefaultCinderBackupBackend(rbdBackup)
	if diff := cmp.Diff(want, rbdBackup); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
