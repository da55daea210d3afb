// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func newCinder() *v1alpha1.Cinder {
	return &v1alpha1.Cinder{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "cinder"},
		Spec: v1alpha1.CinderSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.org/cinder", Tag: "2026.1"},
			Database:         v1alpha1.DatabaseSpec{Host: "db", Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: "db"}},
			Cache:            v1alpha1.CacheSpec{Servers: []string{"cache:11211"}},
			Messaging:        v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "bus"}},
		},
	}
}

// withKeystone is a Cinder whose services authenticate.
func withKeystone(c *v1alpha1.Cinder) {
	c.Spec.KeystoneEndpoint = "https://keystone.example.org/v3"
	c.Spec.ServiceUser = &v1alpha1.ServiceUserSpec{SecretRef: v1alpha1.SecretRefSpec{Name: "user"}}
}

func newNFSBackend() *v1alpha1.CinderBackend {
	return &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "nfs-a"},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
			Type:      v1alpha1.CinderBackendTypeNFS,
			NFS:       &v1alpha1.NFSBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{Server: "nfs", Path: "/volumes"}},
		},
	}
}

func newPool() v1alpha1.RBDPoolSpec {
	return v1alpha1.RBDPoolSpec{
		Pool: "volumes", User: "cinder", Monitors: []v1alpha1.CephHost{"mon-a", "10.1.2.3:6789"},
		Networks: []v1alpha1.IPv4CIDR{"10.0.0.0/8"}, KeySecretRef: v1alpha1.SecretNameRefSpec{Name: "key"},
	}
}

func newRBDBackend() *v1alpha1.CinderBackend {
	b := newNFSBackend()
	b.Name, b.Spec.NFS = "rbd-a", nil
	b.Spec.Type, b.Spec.RBD = v1alpha1.CinderBackendTypeRBD, &v1alpha1.RBDBackendSpec{RBDPoolSpec: newPool()}
	return b
}

func newBackup(name string) *v1alpha1.CinderBackupBackend {
	return &v1alpha1.CinderBackupBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: name},
		Spec: v1alpha1.CinderBackupBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
			Type:      v1alpha1.CinderBackupBackendTypeRBD,
			RBD:       &v1alpha1.RBDBackupBackendSpec{RBDPoolSpec: newPool()},
		},
	}
}

// wantErrors wants exactly these violations, each as "FIELD: part of the message".
func wantErrors(t *testing.T, errs field.ErrorList, want []string) {
	t.Helper()
	for _, expected := range want {
		if !has(errs, expected) {
			t.Errorf("no violation is %q", expected)
		}
	}
	if len(errs) != len(want) || t.Failed() {
		t.Errorf("%d violations, want %d:\n%s", len(errs), len(want), list(errs))
	}
}

// wantWarnings wants exactly these warnings, in this order, each by a part.
func wantWarnings(t *testing.T, warnings, want []string) {
	t.Helper()
	if len(warnings) != len(want) {
		t.Fatalf("warnings %q, want %q", warnings, want)
	}
	for i := range want {
		if !strings.Contains(warnings[i], want[i]) {
			t.Errorf("warning %q does not say %q", warnings[i], want[i])
		}
	}
}
