// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"strings"
	"sync"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestACinderIsAnsweredWithAllItsViolationsAtOnce(t *testing.T) {
	namespace := newNamespace(t)
	obj := newCinder(namespace)
	obj.Name = strings.Repeat("c", 44)
	obj.Spec.OpenStackRelease = "2025.2"
	obj.Spec.GlanceEndpoint = "https://"
	obj.Spec.API = &v1alpha1.APISpec{
		Deployment: &v1alpha1.DeploymentSpec{PriorityClassName: "nobody-has-it"},
		UWSGI:      &v1alpha1.UWSGISpec{Harakiri: ptr.To[int32](25)},
	}
	obj.Spec.DBPurge = &v1alpha1.DBPurgeSpec{Schedule: "every day"}
	obj.Spec.ExtraConfig = map[string]map[string]string{"database": {"connection": "mysql://"}}
	want := []string{
		"spec.openStackRelease: must be 2026.1 or later: ",
		"spec.glanceEndpoint: must be a URL with a host",
		"spec.api.uwsgi.harakiri: harakiri must be strictly less than the drain window of 25 seconds",
		"spec.api.deployment.priorityClassName: PriorityClass \"nobody-has-it\" does not exist",
		"spec.dbPurge.schedule: invalid cron expression",
		"spec.extraConfig[database][connection]: [database] connection is set by the operator",
	}
	wantViolations(t, admin.Create(t.Context(), obj), append(want, "metadata.name: name must be at most 43 characters")...)

	stored := newCinder(namespace)
	if err := admin.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	stored.Spec = obj.Spec
	wantViolations(t, admin.Update(t.Context(), stored), want...)
}

func TestABackendIsAnsweredWithAllItsViolationsAtOnce(t *testing.T) {
	namespace := newNamespace(t)
	obj := newBackend(namespace, "oslo-"+strings.Repeat("b", 40))
	obj.Spec.ExtraOptions = map[string]string{"volume_driver": "x", "a b": "c", "nfs_mount_attempts": "3\n[DEFAULT]"}
	want := []string{
		"spec.extraOptions[a b]: the option name must match ^[A-Za-z0-9_]+$",
		"spec.extraOptions[volume_driver]: volume_driver is set by the operator",
		"spec.extraOptions[nfs_mount_attempts]: the value must not contain a newline or carriage return",
	}
	wantViolations(t, admin.Create(t.Context(), obj), append(want,
		"metadata.name: name must be at most 35 characters",
		"metadata.name: name and cinderRef.name must together be at most 47 characters")...)
	wantViolations(t, admin.Create(t.Context(), newBackend(namespace, "nova")), "metadata.name: name must not be that of a section of cinder.conf")

	stored := newBackend(namespace, "nfs-a")
	if err := admin.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	stored.Spec.ExtraOptions = obj.Spec.ExtraOptions
	wantViolations(t, admin.Update(t.Context(), stored), want...)
}

func TestABackupBackendIsAnsweredWithAllItsViolationsAtOnce(t *testing.T) {
	namespace := newNamespace(t)
	stored := newBackupBackend(namespace, "first")
	if err := admin.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	obj := newBackupBackend(namespace, "second")
	obj.Spec.RBD.Monitors = []v1alpha1.CephHost{"mon-a:70000"}
	obj.Spec.RBD.Networks = []v1alpha1.IPv4CIDR{"10.0.0.1/8"}
	obj.Spec.ExtraOptions = map[string]string{"backup_ceph_pool": "x"}
	want := []string{
		"spec.rbd.monitors[0]: the port must be between 1 and 65535",
		"spec.rbd.networks[0]: must be an IPv4 CIDR in its canonical form, with the host bits zero",
		"spec.extraOptions[backup_ceph_pool]: backup_ceph_pool is set by the operator",
	}
	wantViolations(t, admin.Create(t.Context(), obj), append(want,
		"spec.cinderRef.name: Cinder \"cinder\" already has CinderBackupBackend \"first\"")...)

	stored.Spec = obj.Spec
	wantViolations(t, admin.Update(t.Context(), stored), want...)
}

func TestTheSecondOfTwoBackupBackendsIsRefusedEvenOnAnUpdateOfItsLabels(t *testing.T) {
	namespace := newNamespace(t)
	for _, name := range []string{"first", "second"} {
		// The operator's own account is not asked about, so two of them can exist.
		if err := operator.Create(t.Context(), newBackupBackend(namespace, name)); err != nil {
			t.Fatal(err)
		}
	}
	second := &v1alpha1.CinderBackupBackend{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "second"}, second); err != nil {
		t.Fatal(err)
	}
	second.Labels = map[string]string{"a": "b"}
	wantViolations(t, admin.Update(t.Context(), second), "spec.cinderRef.name: Cinder \"cinder\" already has CinderBackupBackend \"first\"")

	if err := admin.Delete(t.Context(), newBackupBackend(namespace, "first")); err != nil {
		t.Fatal(err)
	}
	if err := admin.Update(t.Context(), second); err != nil {
		t.Errorf("the only one is refused: %v", err)
	}
}

func TestDefaultsAreFilledInWithoutTakingAnythingAway(t *testing.T) {
	namespace := newNamespace(t)
	obj := newCinder(namespace)
	obj.Spec.Database.TLS = &v1alpha1.DatabaseTLSSpec{}
	obj.Spec.KeystoneEndpoint = "https://keystone.example.org"
	obj.Spec.ServiceUser = &v1alpha1.ServiceUserSpec{SecretRef: v1alpha1.SecretRefSpec{Name: "user"}}
	obj.Spec.Jobs = &v1alpha1.JobSpec{NodeSelector: map[string]string{}, PriorityClassName: ptr.To("")}
	if err := admin.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	spec := obj.Spec
	if *spec.API.Deployment.Replicas != 3 || *spec.Scheduler.Deployment.Replicas != 1 || spec.Database.TLS.Mode != v1alpha1.DatabaseTLSRequire ||
		spec.ServiceUser.Username != "cinder" || spec.ServiceUser.SecretRef.Key != "password" || spec.Logging.Format != v1alpha1.LogFormatText {
		t.Errorf("defaults are missing: %+v", spec)
	}
	if spec.Jobs.NodeSelector == nil || spec.Jobs.PriorityClassName == nil {
		t.Error("an empty value, which opts out, was taken away")
	}
	if spec.API.Deployment.TerminationGracePeriodSeconds != nil || spec.DBPurge != nil {
		t.Error("what is resolved when it is rendered was written back")
	}
	backup := newBackupBackend(namespace, "backup")
	if err := admin.Create(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if backup.Spec.RBD.ClusterName != "ceph" || *backup.Spec.FileSize != 52428800 || backup.Spec.Compression != "zlib" {
		t.Errorf("defaults are missing: %+v", backup.Spec)
	}
}

// invalidCinder is one that an older version let in: the operator's account, which is not asked about, stores it.
func invalidCinder(t *testing.T, finalizers ...string) *v1alpha1.Cinder {
	t.Helper()
	obj := newCinder(newNamespace(t))
	obj.Finalizers = finalizers
	obj.Spec.ExtraConfig = map[string]map[string]string{"database": {"connection": "1"}}
	if err := operator.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	if obj.Spec.API != nil {
		t.Error("the operator's own request was defaulted")
	}
	return obj
}

func TestNobodyIsKeptFromEndingADeletion(t *testing.T) {
	obj := invalidCinder(t, "example.org/one", "example.org/two")
	obj.Labels = map[string]string{"a": "b"}
	wantViolations(t, admin.Update(t.Context(), obj.DeepCopy()),
		"spec.extraConfig[database][connection]: [database] connection is set by the operator and cannot be overridden")
	if err := operator.Update(t.Context(), obj); err != nil {
		t.Fatalf("the operator is kept from updating: %v", err)
	}
	generation := obj.Generation
	obj.Finalizers = []string{"example.org/one"}
	if err := admin.Update(t.Context(), obj); err != nil {
		t.Fatalf("the removal of a finalizer is rejected: %v", err)
	}
	if obj.Generation != generation {
		t.Error("the removal of a finalizer changed the spec")
	}
	if err := admin.Delete(t.Context(), obj); err != nil {
		t.Fatalf("the deletion is rejected: %v", err)
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	obj.Annotations = map[string]string{v1alpha1.AnnotationAbandonChildren: "true"}
	if err := admin.Update(t.Context(), obj); err != nil {
		t.Fatalf("an annotation of a deleted object is rejected: %v", err)
	}
	obj.Finalizers = nil
	if err := admin.Update(t.Context(), obj); err != nil {
		t.Fatalf("the last finalizer cannot be removed: %v", err)
	}
}

func TestAPriorityClassIsLookedUpWhereThePodsRun(t *testing.T) {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "webhooks-high"}, Value: 1000}
	if err := admin.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	obj := newCinder(newNamespace(t))
	obj.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{PriorityClassName: class.Name}}
	if err := admin.Create(t.Context(), obj); err != nil {
		t.Fatalf("a class that exists is refused: %v", err)
	}
	if err := admin.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	obj.Spec.Region = "one"
	if err := admin.Update(t.Context(), obj); err != nil {
		t.Errorf("a class that went later keeps the Cinder from being changed: %v", err)
	}
	elsewhere := newCinder(newNamespace(t))
	elsewhere.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "edge-1"}
	elsewhere.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{PriorityClassName: class.Name}}
	if err := admin.Create(t.Context(), elsewhere); err != nil {
		t.Errorf("a class of another cluster is looked up here: %v", err)
	}
}

// warnings collects what the API server tells beside its answer.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func TestWarningsReachTheCaller(t *testing.T) {
	config, heard := rest.CopyConfig(hub), &warnings{}
	config.WarningHandler = heard
	caller, err := client.New(config, client.Options{Scheme: admin.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t)
	obj := newCinder(namespace)
	obj.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"log_config": "x"}}
	if err := caller.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	obj.Spec.DBPurge = &v1alpha1.DBPurgeSpec{RetentionDays: ptr.To[int32](7)}
	if err := caller.Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	backend := newBackend(namespace, "nfs-a")
	backend.Spec.ImageVolumeCache = &v1alpha1.ImageVolumeCacheSpec{Enabled: true}
	if err := caller.Create(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[DEFAULT] log_config is deprecated in cinder 2026.1: use [DEFAULT] log_config_append",
		"spec.dbPurge.retentionDays is lowered from 30 to 7",
		"Cinder \"cinder\" has no spec.internalTenant",
	} {
		if !strings.Contains(strings.Join(heard.text, "\n"), want) {
			t.Errorf("no warning says %q: %q", want, heard.text)
		}
	}
}
