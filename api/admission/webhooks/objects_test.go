// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{}
	ns.GenerateName = "webhooks-"
	if err := admin.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

func newCinder(namespace string) *v1alpha1.Cinder {
	return &v1alpha1.Cinder{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cinder"},
		Spec: v1alpha1.CinderSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.org/cinder", Tag: "2026.1"},
			Database:         v1alpha1.DatabaseSpec{Host: "db", Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: "db"}},
			Cache:            v1alpha1.CacheSpec{Servers: []string{"cache:11211"}},
			Messaging:        v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "bus"}},
		},
	}
}

func newBackend(namespace, name string) *v1alpha1.CinderBackend {
	return &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
			Type:      v1alpha1.CinderBackendTypeNFS,
			NFS:       &v1alpha1.NFSBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{Server: "nfs", Path: "/volumes"}},
		},
	}
}

func newBackupBackend(namespace, name string) *v1alpha1.CinderBackupBackend {
	return &v1alpha1.CinderBackupBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.CinderBackupBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
			Type:      v1alpha1.CinderBackupBackendTypeRBD,
			RBD: &v1alpha1.RBDBackupBackendSpec{RBDPoolSpec: v1alpha1.RBDPoolSpec{
				Pool: "backups", User: "cinder-backup", Monitors: []v1alpha1.CephHost{"mon-a:6789"},
				Networks: []v1alpha1.IPv4CIDR{"10.0.0.0/8"}, KeySecretRef: v1alpha1.SecretNameRefSpec{Name: "key"},
			}},
		},
	}
}

// wantViolations wants one Invalid answer with exactly these causes, each as "FIELD: part of the message".
func wantViolations(t *testing.T, err error, want ...string) {
	t.Helper()
	status := apierrors.APIStatus(nil)
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		t.Fatalf("the answer is not Invalid: %v", err)
	}
	causes := status.Status().Details.Causes
	for _, expected := range want {
		field, message, _ := strings.Cut(expected, ": ")
		found := false
		for _, cause := range causes {
			found = found || (cause.Field == field && strings.Contains(cause.Message, message))
		}
		if !found {
			t.Errorf("no cause is %q", expected)
		}
	}
	if len(causes) != len(want) || t.Failed() {
		t.Errorf("the causes are %q, want %d", causes, len(want))
	}
}
