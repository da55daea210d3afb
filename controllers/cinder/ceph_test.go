// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// cephKey is a usable key that no other text of a test holds.
func cephKey(seed string) string {
	return base64.StdEncoding.EncodeToString([]byte("cephx key of " + seed))
}

func (f *fixture) keySecret(name string) {
	f.Helper()
	f.secret(name, map[string]string{"userKey": cephKey(name) + "\n"})
}

func pool(user, secret string) v1alpha1.RBDPoolSpec {
	return v1alpha1.RBDPoolSpec{
		Pool: "pool", User: user, Monitors: []v1alpha1.CephHost{"mon.example.org"}, Networks: []v1alpha1.IPv4CIDR{"10.0.0.0/8"},
		KeySecretRef: v1alpha1.SecretNameRefSpec{Name: secret},
	}
}

func (f *fixture) rbdBackend(name, user, secret string) *v1alpha1.CinderBackend {
	f.Helper()
	b := &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.ns},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName}, Type: v1alpha1.CinderBackendTypeRBD,
			RBD: &v1alpha1.RBDBackendSpec{RBDPoolSpec: pool(user, secret)},
		},
	}
	f.create(suite.hub, b)
	f.sayCredentials(b, &b.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
	return b
}

func (f *fixture) rbdBackup(name, user, secret string) *v1alpha1.CinderBackupBackend {
	f.Helper()
	b := &v1alpha1.CinderBackupBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.ns},
		Spec: v1alpha1.CinderBackupBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName}, Type: v1alpha1.CinderBackupBackendTypeRBD,
			RBD: &v1alpha1.RBDBackupBackendSpec{RBDPoolSpec: pool(user, secret)},
		},
	}
	f.create(suite.hub, b)
	f.sayCredentials(b, &b.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
	return b
}

// cephFiles reads /etc/ceph of a Deployment's pods: file name to content.
func (f *fixture) cephFiles(deployment string) (map[string]string, error) {
	var d appsv1.Deployment
	if err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: deployment}, &d); err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Name != "ceph" {
			continue
		}
		for _, source := range v.Projected.Sources {
			var s corev1.Secret
			if err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: source.Secret.Name}, &s); err != nil {
				return nil, err
			}
			for _, item := range source.Secret.Items {
				files[item.Path] = string(s.Data[item.Key])
			}
		}
	}
	return files, nil
}

// generations are those of the Deployments, by name.
func (f *fixture) generations() map[string]int64 {
	f.Helper()
	var list appsv1.DeploymentList
	if err := f.children.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
		f.Fatal(err)
	}
	out := map[string]int64{}
	for _, d := range list.Items {
		out[d.Name] = d.Generation
	}
	return out
}

// noKeyTold fails when a condition or an event carries one of the keys.
func (f *fixture) noKeyTold(secrets ...string) {
	f.Helper()
	var list eventsv1.EventList
	if err := suite.hub.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
		f.Fatal(err)
	}
	told := conditionsText(f.get().Status.Conditions)
	for _, e := range list.Items {
		told += e.Note
	}
	for _, s := range secrets {
		if strings.Contains(told, cephKey(s)) || strings.Contains(told, "not a key") {
			f.Errorf("the key of Secret %s is told", s)
		}
	}
}

func TestCephFilesReachThePodsThatReadThemAndARotationRollsNoOthers(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.secrets()
	f.cinder()
	for _, name := range []string{"key-a", "key-b", "key-backup"} {
		f.keySecret(name)
	}
	f.backend("nfs-a")
	f.rbdBackend("rbd-a", "cinder-a", "key-a")
	f.rbdBackend("rbd-b", "cinder-b", "key-b")
	f.rbdBackup("rbd-backups", "backup", "key-backup")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()

	files, err := f.cephFiles("cinder-volume-rbd-a")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files["ceph.client.cinder-a.keyring"] != "[client.cinder-a]\n\tkey = "+cephKey("key-a")+"\n" || !strings.Contains(files["ceph.conf"], "mon_host = mon.example.org\n") {
		t.Errorf("/etc/ceph of the volume service is %q", files)
	}
	files, err = f.cephFiles("cinder-backup")
	if err != nil {
		t.Fatal(err)
	}
	for path, key := range map[string]string{"ceph.client.backup.keyring": "key-backup", "ceph.client.cinder-a.keyring": "key-a", "ceph.client.cinder-b.keyring": "key-b"} {
		if !strings.Contains(files[path], cephKey(key)) {
			t.Errorf("%s of the backup service is %q", path, files[path])
		}
	}
	if len(files) != 4 {
		t.Errorf("/etc/ceph of the backup service has %d files", len(files))
	}

	for _, step := range []struct {
		secret string
		rolls  []string
	}{
		{"key-a", []string{"cinder-backup", "cinder-volume-rbd-a"}},
		{"key-backup", []string{"cinder-backup"}},
	} {
		before := f.generations()
		f.setSecret(step.secret, "userKey", cephKey(step.secret+" rotated"))
		f.rollUntil(func(*v1alpha1.Cinder) error {
			files, err := f.cephFiles("cinder-backup")
			if err != nil {
				return err
			}
			for _, content := range files {
				if strings.Contains(content, cephKey(step.secret+" rotated")) {
					return nil
				}
			}
			return errors.New("the backup service has the old key")
		})
		f.awaitReady()
		var rolled []string
		for name, generation := range f.generations() {
			if generation != before[name] {
				rolled = append(rolled, name)
			}
		}
		slices.Sort(rolled)
		if !slices.Equal(rolled, step.rolls) {
			t.Errorf("rotation of %s rolls %v, want %v", step.secret, rolled, step.rolls)
		}
	}
	f.noKeyTold("key-a", "key-b", "key-backup")
}

func TestAKeyThatVanishesOrBreaksSkipsItsSatellite(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	f.keySecret("key-a")
	f.keySecret("key-backup")
	f.rbdBackend("rbd-a", "cinder-a", "key-a")
	f.rbdBackup("rbd-backups", "backup", "key-backup")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()

	f.setSecret("key-a", "userKey", "not a key")
	if err := contains(f.awaitCondition(v1alpha1.ConditionBackendsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackends), "rbd-a", `"key-a"`, "userKey"); err != nil {
		t.Error(err)
	}
	if err := contains(f.awaitEvent("CinderBackendSkipped"), "rbd-a", `"key-a"`, "userKey"); err != nil {
		t.Error(err)
	}
	f.collect("cinder-volume-rbd-a")
	f.awaitNoRevision("cinder-backend-rbd-a-")
	if err := f.children.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key-backup", Namespace: f.ns}}); err != nil {
		t.Fatal(err)
	}
	if err := contains(f.awaitEvent("CinderBackupBackendSkipped"), "rbd-backups", `"key-backup"`, "userKey"); err != nil {
		t.Error(err)
	}
	f.awaitCondition(v1alpha1.ConditionBackupBackendReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackupBackend)
	f.collect("cinder-backup")
	f.awaitNoRevision("cinder-backup-rbd-backups-")
	f.noKeyTold("key-a", "key-backup")

	// Both come back with their keys.
	f.setSecret("key-a", "userKey", cephKey("key-a"))
	f.keySecret("key-backup")
	f.awaitReady()
	for _, name := range []string{"cinder-volume-rbd-a", "cinder-backup"} {
		f.awaitChild(&appsv1.Deployment{}, name)
	}
}

func TestTwoKeysForOneKeyringFileAreToldOf(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	f.keySecret("key-a")
	f.keySecret("key-b")
	f.rbdBackend("rbd-a", "cinder", "key-a")
	second := f.rbdBackend("rbd-b", "cinder", "key-b")
	f.rbdBackend("rbd-c", "cinder", "key-a")
	f.backupBackend("nfs-b")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()
	if err := contains(f.awaitEvent("CephKeyringConflict"), "rbd-a", "rbd-b"); err != nil {
		t.Error(err)
	}
	files, err := f.cephFiles("cinder-backup")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || !strings.Contains(files["ceph.client.cinder.keyring"], cephKey("key-a")) {
		t.Errorf("/etc/ceph of the backup service is %q", files)
	}

	// What could not be read now is known from what is live: no other conflict.
	f.sayCredentials(second, &second.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	f.runPass(2)
	f.awaitReady()
	var list eventsv1.EventList
	if err := suite.hub.List(t.Context(), &list, client.InNamespace(f.ns)); err != nil {
		t.Fatal(err)
	}
	conflicts := slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason != "CephKeyringConflict" })
	if len(conflicts) != 1 {
		t.Errorf("%d warnings, want one", len(conflicts))
	}
	f.noKeyTold("key-a", "key-b")
}

func TestSeveralReadyBackupTargetsStopTheBackupService(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	f.keySecret("key-backup")
	f.rbdBackup("rbd-backups", "backup", "key-backup")
	if err := contains(f.awaitCondition(v1alpha1.ConditionBackupBackendReady, metav1.ConditionFalse, v1alpha1.ReasonMultipleBackupBackends), "nfs-b", "rbd-backups"); err != nil {
		t.Error(err)
	}
	f.awaitCondition(v1alpha1.ConditionBackupServiceReady, metav1.ConditionTrue, v1alpha1.ReasonBackupNotConfigured)
	f.collect("cinder-backup")
	f.awaitNoRevision("cinder-backup-nfs-b-")

	if err := suite.hub.Delete(t.Context(), &v1alpha1.CinderBackupBackend{ObjectMeta: metav1.ObjectMeta{Name: "nfs-b", Namespace: f.ns}}); err != nil {
		t.Fatal(err)
	}
	f.awaitReady()
	files, err := f.cephFiles("cinder-backup")
	if err != nil || len(files) != 2 {
		t.Errorf("/etc/ceph of the backup service is %q (%v)", files, err)
	}
}

// A pass that waits for the database does not reach the step that takes the
// Deployment away: its pods must be able to start until then.
func TestTheSecretsOfABackendWithoutItsKeyOutliveItsDeployment(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	f.keySecret("key-a")
	f.rbdBackend("rbd-a", "cinder-a", "key-a")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()

	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Image.Tag = "2026.2" })
	f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonImageReleaseMismatch)
	f.setSecret("key-a", "userKey", "not a key")
	f.awaitCondition(v1alpha1.ConditionBackendsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackends)
	var volume appsv1.Deployment
	f.awaitChild(&volume, "cinder-volume-rbd-a")
	for _, v := range volume.Spec.Template.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				f.awaitChild(&corev1.Secret{}, source.Secret.Name)
			}
		}
	}
	if f.revisions("cinder-backend-rbd-a-") == 0 {
		t.Error("the Secrets are swept while the Deployment names them")
	}

	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Image.Tag = "2026.1" })
	f.collect("cinder-volume-rbd-a")
	f.awaitNoRevision("cinder-backend-rbd-a-")
}
