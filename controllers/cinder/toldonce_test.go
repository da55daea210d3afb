// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// expectGiven waits for a warning of each text and wants no other of the reason.
func (f *fixture) expectGiven(reason string, texts ...string) {
	f.Helper()
	var notes []string
	f.eventually(fmt.Sprintf("%d events %s", len(texts), reason), func(context.Context) error {
		notes = nil
		for _, e := range f.events(reason) {
			times := 1
			if e.Series != nil {
				times = int(e.Series.Count)
			}
			notes = append(notes, slices.Repeat([]string{e.Note}, times)...)
		}
		if len(notes) < len(texts) {
			return fmt.Errorf("there are %q", notes)
		}
		return nil
	})
	for _, text := range texts {
		if i := slices.IndexFunc(notes, func(note string) bool { return contains(note, text) == nil }); i >= 0 {
			notes = slices.Delete(notes, i, i+1)
		} else {
			f.Errorf("no event %s says %q", reason, text)
		}
	}
	if len(notes) > 0 {
		f.Errorf("event %s was given for %q as well", reason, notes)
	}
}

func TestASharedVirtualHostIsNotToldAgainAfterItsTargetWasAway(t *testing.T) {
	t.Parallel()
	one, other, third := onTarget(t), onTarget(t), onTarget(t)
	vhost := one.ns
	for _, f := range []*fixture{one, other, third} {
		f.secret("db", map[string]string{"username": "cinder", "password": "secret"})
		f.secret("bus", map[string]string{"transport_url": "rabbit://u:secret@rabbit.openstack.svc/" + vhost})
	}
	registration := one.register("edge")
	other.register("edge")
	third.register("edge")
	one.cinder()
	other.cinder()
	one.expectGiven("SharedBrokerVhost", other.ns+"/cinder")

	if err := suite.hub.Delete(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	one.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	one.register("edge")
	one.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable, "virtual host", other.ns+"/cinder")

	// Another neighbour is news, and the only one.
	third.cinder()
	one.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable, third.ns+"/cinder")
	names := []string{other.ns + "/cinder", third.ns + "/cinder"}
	slices.Sort(names)
	one.expectGiven("SharedBrokerVhost", "Cinder: "+other.ns+"/cinder", names[0]+", "+names[1])

	// It goes, which is news again.
	third.setSecret("bus", "transport_url", "rabbit://u:secret@rabbit.openstack.svc/"+third.ns)
	one.expectGiven("SharedBrokerVhost", other.ns+"/cinder", names[0]+", "+names[1], "Cinder: "+other.ns+"/cinder")
}

func TestTheOptionsOfASharedExportAreNotToldAgainAfterTheBackupTargetCouldNotBeRead(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	typ, reason := v1alpha1.ConditionBackupServiceReady, "SharedExportMountOptionsIgnored"
	f.secrets()
	f.cinder()
	f.exporting("nfs-b", "nfsvers=4.1")
	f.exporting("nfs-c", "nfsvers=4.2")
	backups := f.backupBackend("backups")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()
	f.expectGiven(reason, "CinderBackend nfs-b: those of nfs-c")

	f.sayCredentials(backups, &backups.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	f.eventually("a message without the export", func(context.Context) error {
		if message := f.awaitCondition(typ, metav1.ConditionTrue, v1alpha1.ReasonBackupServiceReady); contains(message, "export") == nil {
			return fmt.Errorf("it is %q", message)
		}
		return nil
	})
	f.sayCredentials(backups, &backups.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsNotRequired)
	f.awaitSays(typ, metav1.ConditionTrue, v1alpha1.ReasonBackupServiceReady, "those of nfs-c")

	// Now the first one is another, whose options nfs-c shares.
	f.exporting("nfs-a", "nfsvers=4.2")
	f.awaitReady()
	f.expectGiven(reason, "CinderBackend nfs-b: those of nfs-c", "CinderBackend nfs-a: those of nfs-b")
}

func TestASkippedSatelliteIsNotToldAgainAfterItCouldNotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// attach makes the satellite and returns its conditions.
		attach                 func(*fixture) (client.Object, *[]metav1.Condition)
		typ, reason, told, pod string
	}{
		"volume backend": {
			func(f *fixture) (client.Object, *[]metav1.Condition) {
				b := f.rbdBackend("rbd-a", "cinder", "key-a")
				return b, &b.Status.Conditions
			},
			v1alpha1.ConditionBackendsReady, v1alpha1.ReasonWaitingForBackends, "CinderBackendSkipped", "cinder-volume-rbd-a",
		},
		"backup target": {
			func(f *fixture) (client.Object, *[]metav1.Condition) {
				b := f.rbdBackup("rbd-a", "backup", "key-a")
				return b, &b.Status.Conditions
			},
			v1alpha1.ConditionBackupBackendReady, v1alpha1.ReasonWaitingForBackupBackend, "CinderBackupBackendSkipped", "cinder-backup",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := onHub(t)
			f.secrets()
			f.cinder()
			f.keySecret("key-a")
			f.backend("nfs-a")
			satellite, conds := c.attach(f)
			f.endJob("cinder-db-sync", true)
			f.awaitReady()

			f.setSecret("key-a", "userKey", "not a key")
			f.awaitSays(c.typ, metav1.ConditionFalse, c.reason, "rbd-a (skipped", "base64")
			f.expectGiven(c.told, "base64")
			f.collect(c.pod)

			f.sayCredentials(satellite, conds, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
			f.awaitSays(c.typ, metav1.ConditionFalse, c.reason, "rbd-a (by the test)")
			f.sayCredentials(satellite, conds, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
			f.awaitSays(c.typ, metav1.ConditionFalse, c.reason, "rbd-a (skipped", "base64")

			// Another fault is news, and the only one.
			deleteKey := func() {
				key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key-a", Namespace: f.ns}}
				if err := f.children.Delete(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
			deleteKey()
			f.awaitSays(c.typ, metav1.ConditionFalse, c.reason, "rbd-a (skipped", "does not exist")
			f.expectGiven(c.told, "base64", "does not exist")

			// So is the same one, once everything was right in between.
			f.keySecret("key-a")
			f.awaitReady()
			deleteKey()
			f.expectGiven(c.told, "base64", "does not exist", "does not exist")
		})
	}
}

func TestTwoSkippedBackendsAreToldOfEach(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	f.keySecret("key-a")
	f.rbdBackend("rbd-a", "cinder", "key-a")
	f.rbdBackend("rbd-b", "cinder", "key-a")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()

	f.setSecret("key-a", "userKey", "not a key")
	f.awaitSays(v1alpha1.ConditionBackendsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackends, "rbd-a (skipped", "rbd-b (skipped")
	f.eventually("an event for each", func(context.Context) error {
		told := map[string]string{}
		for _, e := range f.events("CinderBackendSkipped") {
			if e.Related != nil {
				told[e.Related.Name] = e.Note
			}
		}
		for _, name := range []string{"rbd-a", "rbd-b"} {
			if err := contains(told[name], name, "base64"); err != nil {
				return fmt.Errorf("of %s: %w", name, err)
			}
		}
		return nil
	})
}
