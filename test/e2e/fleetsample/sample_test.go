// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package fleetsample

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// volumeFiles are what the volume service of each backend finds, byte for byte.
var volumeFiles = map[string]map[string]string{
	"nfs-a": {
		"/etc/cinder/backends.conf.d/backend.conf": `[nfs-a]
backend_host = cinder
nas_secure_file_operations = true
nas_secure_file_permissions = true
nfs_mount_options = nfsvers=4.1,soft,timeo=30,retrans=2
nfs_mount_point_base = /var/lib/cinder/mnt
nfs_qcow2_volumes = false
nfs_shares_config = /etc/cinder/backends.conf.d/nfs-a.shares
nfs_snapshot_support = false
nfs_sparsed_volumes = true
volume_backend_name = nfs-a
volume_driver = cinder.volume.drivers.nfs.NfsDriver
`,
		"/etc/cinder/backends.conf.d/nfs-a.shares": "nfs-server.openstack.svc.cluster.local:/volumes\n",
		"/etc/cinder/volume.conf.d/volume.conf":    "[DEFAULT]\nenabled_backends = nfs-a\n",
	},
	"nfs-b": {
		"/etc/cinder/backends.conf.d/backend.conf": `[nfs-b]
backend_host = cinder
nas_secure_file_operations = true
nas_secure_file_permissions = true
nfs_mount_options = nfsvers=4.2,hard
nfs_mount_point_base = /var/lib/cinder/mnt
nfs_qcow2_volumes = false
nfs_shares_config = /etc/cinder/backends.conf.d/nfs-b.shares
nfs_snapshot_support = false
nfs_sparsed_volumes = true
volume_backend_name = nfs-b
volume_driver = cinder.volume.drivers.nfs.NfsDriver
`,
		"/etc/cinder/backends.conf.d/nfs-b.shares": "filer.example.org:/exports/volumes\n",
		"/etc/cinder/volume.conf.d/volume.conf":    "[DEFAULT]\nenabled_backends = nfs-b\n",
	},
	"rbd-a": {
		"/etc/cinder/backends.conf.d/backend.conf": `[rbd-a]
backend_host = cinder
image_volume_cache_enabled = true
image_volume_cache_max_count = 50
image_volume_cache_max_size_gb = 200
rbd_ceph_conf = /etc/ceph/ceph.conf
rbd_cluster_name = ceph
rbd_pool = volumes
rbd_secret_uuid = 457eb676-33da-42ec-9a8c-9293d545c337
rbd_user = cinder-a
volume_backend_name = rbd-a
volume_driver = cinder.volume.drivers.rbd.RBDDriver
`,
		"/etc/cinder/volume.conf.d/volume.conf": "[DEFAULT]\nenabled_backends = rbd-a\n",
		"/etc/ceph/ceph.conf": `[global]
mon_host = rook-ceph-mon-a.rook-ceph.svc.cluster.local,rook-ceph-mon-b.rook-ceph.svc.cluster.local:6789
keyring = /etc/ceph/ceph.client.cinder-a.keyring
log_file = /dev/null
admin_socket = /tmp/$cluster-$name.$pid.$cctid.asok
`,
		"/etc/ceph/ceph.client.cinder-a.keyring": keyring("cinder-a", "ZGVtb25zdHJhdGlvbi1yYmQtYQ=="),
	},
	"rbd-b": {
		"/etc/cinder/backends.conf.d/backend.conf": `[rbd-b]
backend_host = cinder
rbd_ceph_conf = /etc/ceph/archive.conf
rbd_cluster_name = archive
rbd_pool = archive
rbd_user = cinder-b
volume_backend_name = rbd-b
volume_driver = cinder.volume.drivers.rbd.RBDDriver
`,
		"/etc/cinder/volume.conf.d/volume.conf": "[DEFAULT]\nenabled_backends = rbd-b\n",
		"/etc/ceph/archive.conf": `[global]
mon_host = 192.0.2.11,192.0.2.12,192.0.2.13
keyring = /etc/ceph/archive.client.cinder-b.keyring
log_file = /dev/null
admin_socket = /tmp/$cluster-$name.$pid.$cctid.asok
`,
		"/etc/ceph/archive.client.cinder-b.keyring": keyring("cinder-b", "ZGVtb25zdHJhdGlvbi1yYmQtYg=="),
	},
}

// backupFiles are those of the backup service: its target's, and the keyrings of
// both RBD backends without their ceph.conf.
var backupFiles = map[string]string{
	"/etc/cinder/backup.conf.d/backup.conf": `[DEFAULT]
backup_ceph_conf = /etc/ceph/ceph.conf
backup_ceph_pool = backups
backup_ceph_user = cinder-backup
backup_driver = cinder.backup.drivers.ceph.CephBackupDriver
backup_use_same_host = false
host = cinder-backup
`,
	"/etc/ceph/ceph.conf": `[global]
mon_host = rook-ceph-mon-a.rook-ceph.svc.cluster.local
keyring = /etc/ceph/ceph.client.cinder-backup.keyring
log_file = /dev/null
admin_socket = /tmp/$cluster-$name.$pid.$cctid.asok
`,
	"/etc/ceph/ceph.client.cinder-backup.keyring": keyring("cinder-backup", "ZGVtb25zdHJhdGlvbi1iYWNrdXA="),
	"/etc/ceph/ceph.client.cinder-a.keyring":      keyring("cinder-a", "ZGVtb25zdHJhdGlvbi1yYmQtYQ=="),
	"/etc/ceph/archive.client.cinder-b.keyring":   keyring("cinder-b", "ZGVtb25zdHJhdGlvbi1yYmQtYg=="),
}

func keyring(user, key string) string { return "[client." + user + "]\n\tkey = " + key + "\n" }

// TestTheFleetSampleServesOnATarget works on one Cinder, step by step: each part
// begins with everything Ready and leaves it so.
func TestTheFleetSampleServesOnATarget(t *testing.T) {
	f := applied(t)
	for _, part := range []struct {
		name string
		run  func(*fleet)
	}{
		{"the services find their files byte for byte", (*fleet).findsItsFiles},
		{"the network policy opens each export and the union of the Ceph networks", (*fleet).opensTheNetworks},
		{"a rotated key rolls exactly the pods that read it", (*fleet).rotatesKeys},
		{"a key that is taken away takes its service and its Secrets until it is back", (*fleet).losesAKey},
		{"a second key for one keyring file is left out and told of", (*fleet).conflicts},
		{"a second backup target stops the service and replaces the first", (*fleet).replacesTheBackupTarget},
		{"no key was told on the way", (*fleet).expectNoKeyTold},
	} {
		ok := t.Run(part.name, func(t *testing.T) {
			here := *f
			here.T = t
			defer func() { f.keys, f.backup = here.keys, here.backup }()
			part.run(&here)
		})
		if !ok {
			return
		}
	}
}

func (f *fleet) findsItsFiles() {
	for backend, want := range volumeFiles {
		f.expectFiles("cinder-volume-"+backend, want)
	}
	f.expectFiles("cinder-backup", backupFiles)
}

func (f *fleet) expectFiles(deployment string, want map[string]string) {
	f.Helper()
	have, err := f.files(f.Context(), deployment)
	if err != nil {
		f.Fatalf("the files of %s: %v", deployment, err)
	}
	for path, text := range want {
		if have[path] != text {
			f.Errorf("%s of %s is\n%s\nwant\n%s", path, deployment, have[path], text)
		}
	}
	for path := range have {
		if _, expected := want[path]; !expected {
			f.Errorf("%s has %s, which nothing asks for", deployment, path)
		}
	}
}

func (f *fleet) opensTheNetworks() {
	harness.Change(f, lab.Hub, f.cinder, func(c *v1alpha1.Cinder) {
		c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{NamespaceSelector: metav1.LabelSelector{}}}}
	})
	lab.WaitReady(f, harness.ReadyTimeout, f.cinder)
	policy := &networkingv1.NetworkPolicy{}
	f.edge.Get(f, f.key("cinder"), policy)
	var ceph []string
	nfs := 0
	for _, rule := range policy.Spec.Egress {
		for _, port := range rule.Ports {
			switch port.Port.IntValue() {
			case 2049:
				nfs++
			case 3300:
				for _, peer := range rule.To {
					ceph = append(ceph, peer.IPBlock.CIDR)
				}
			}
		}
	}
	if want := []string{"10.244.0.0/16", "10.96.0.0/12", "192.0.2.0/24"}; !slices.Equal(ceph, want) {
		f.Errorf("Ceph is reached at %v, want %v", ceph, want)
	}
	if nfs != 1 {
		f.Errorf("%d rules open NFS, want one", nfs)
	}
}

// setKey replaces the key in a Secret, as a rotation does.
func (f *fleet) setKey(secret, key string) {
	f.Helper()
	s := &corev1.Secret{ObjectMeta: f.named(secret)}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"stringData":{"userKey":%q}}`, key))
	if err := f.edge.Client.Patch(f.Context(), s, patch); err != nil {
		f.Fatal(err)
	}
}

func (f *fleet) rotatesKeys() {
	for _, step := range []struct {
		secret, file, user string
		rolls              []string
	}{
		{"ceph-client-cinder-b", "/etc/ceph/archive.client.cinder-b.keyring", "cinder-b", []string{"backup", "volume-rbd-b"}},
		{"ceph-client-cinder-backup", "/etc/ceph/ceph.client.cinder-backup.keyring", "cinder-backup", []string{"backup"}},
	} {
		before := f.pods()
		if len(before) != 7 {
			f.Fatalf("there are pods of %v, want the API, the scheduler, four volume services and the backup service", before)
		}
		key := f.cephKey(step.secret + ", rotated")
		f.setKey(step.secret, key)
		f.expectRolled(before, step.rolls...)
		files, err := f.files(f.Context(), "cinder-backup")
		if err != nil {
			f.Fatal(err)
		}
		if files[step.file] != keyring(step.user, key) {
			f.Errorf("%s is %q after the rotation", step.file, files[step.file])
		}
	}
}

func (f *fleet) losesAKey() {
	lost := &corev1.Secret{}
	f.edge.Get(f, f.key("ceph-client-cinder-b"), lost)
	f.edge.Delete(f, lost.DeepCopy())
	lab.WaitFor(f, harness.ReadyTimeout, f.backends["rbd-b"], harness.Want{
		Type: v1alpha1.ConditionCredentialsReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWaitingForCredentials,
		Message: "RBD key ExternalSecret openstack/ceph-client-cinder-b not found yet",
	})
	f.expectSwept("cinder-volume-rbd-b", "cinder-backend-rbd-b")
	lab.WaitFor(f, harness.ReadyTimeout, f.cinder, harness.Want{
		Type: v1alpha1.ConditionBackendsReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWaitingForBackends, Message: "rbd-b",
	})
	files, err := f.files(f.Context(), "cinder-backup")
	if err != nil {
		f.Fatal(err)
	}
	if _, there := files["/etc/ceph/archive.client.cinder-b.keyring"]; there {
		f.Error("the backup service still has the keyring")
	}

	f.edge.Create(f, &corev1.Secret{ObjectMeta: f.named(lost.Name), Data: lost.Data})
	for _, obj := range []client.Object{f.backends["rbd-b"], f.cinder} {
		lab.WaitReady(f, harness.ReadyTimeout, obj)
	}
}

// conflicts attaches a backend that shares cluster and user with the backup
// target and detaches it again.
func (f *fleet) conflicts() {
	before, err := f.files(f.Context(), "cinder-backup")
	if err != nil {
		f.Fatal(err)
	}
	f.edge.Create(f, &corev1.Secret{ObjectMeta: f.named("other-key"), StringData: map[string]string{"userKey": f.cephKey("another hand")}})
	second := f.backends["rbd-a"].DeepCopy()
	second.ObjectMeta = f.named("rbd-c")
	second.Spec.RBD.User = "cinder-backup"
	second.Spec.RBD.KeySecretRef.Name = "other-key"
	lab.Hub.Create(f, second)
	f.Cleanup(func() { lab.Remove(f, second) })
	lab.WaitReady(f, harness.ReadyTimeout, second)
	lab.WaitReady(f, harness.ReadyTimeout, f.cinder)
	f.expectToldOnce("CephKeyringConflict", `backup target "rbd-backups"`, `backend "rbd-c"`)
	f.expectFiles("cinder-backup", before)
	own, err := f.files(f.Context(), "cinder-volume-rbd-c")
	if err != nil {
		f.Fatal(err)
	}
	if got := own["/etc/ceph/ceph.client.cinder-backup.keyring"]; !strings.Contains(got, f.keys[len(f.keys)-1]) {
		f.Errorf("the backend's own service has the keyring %q", got)
	}

	lab.Hub.Delete(f, second)
	lab.Hub.WaitGone(f, harness.ReadyTimeout, second)
	f.expectSwept("cinder-volume-rbd-c", "cinder-backend-rbd-c")
	lab.WaitReady(f, harness.ReadyTimeout, f.cinder)
}

func (f *fleet) expectToldOnce(reason string, parts ...string) {
	f.Helper()
	harness.Eventually(f, harness.ReadyTimeout, reason, func(ctx context.Context) error {
		told, err := lab.Hub.Told(ctx, namespace, f.cinder.UID)
		if err != nil {
			return err
		}
		for what, times := range told {
			if !strings.HasPrefix(what, reason+": ") {
				continue
			}
			for _, part := range parts {
				if !strings.Contains(what, part) {
					return fmt.Errorf("it says %q", what)
				}
			}
			if times != 1 {
				return fmt.Errorf("it was told %d times", times)
			}
			return nil
		}
		return fmt.Errorf("there is %v", told)
	})
}

func (f *fleet) replacesTheBackupTarget() {
	next := f.backup.DeepCopy()
	next.ObjectMeta = f.named("rbd-backups-2")
	next.Spec.RBD.Pool = "backups-2"
	lab.Hub.Create(f, next)
	f.Cleanup(func() { lab.Remove(f, next) })
	lab.WaitFor(f, harness.ReadyTimeout, f.cinder,
		harness.Want{Type: v1alpha1.ConditionBackupBackendReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonMultipleBackupBackends, Message: "rbd-backups, rbd-backups-2"},
		harness.Want{Type: v1alpha1.ConditionBackupServiceReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonBackupNotConfigured},
	)
	f.expectSwept("cinder-backup", "cinder-backup-rbd-backups")

	lab.Hub.Delete(f, f.backup)
	for _, obj := range []client.Object{next, f.cinder} {
		lab.WaitReady(f, harness.ReadyTimeout, obj)
	}
	files, err := f.files(f.Context(), "cinder-backup")
	if err != nil {
		f.Fatal(err)
	}
	if got := files["/etc/cinder/backup.conf.d/backup.conf"]; !strings.Contains(got, "backup_ceph_pool = backups-2\n") || !strings.Contains(got, "host = cinder-backup\n") {
		f.Errorf("backup.conf of the replacement is %q", got)
	}

	lab.Hub.Delete(f, next)
	f.expectSwept("cinder-backup", "cinder-backup-rbd-backups-2")
	lab.WaitFor(f, harness.ReadyTimeout, f.cinder,
		harness.Want{Type: v1alpha1.ConditionBackupBackendReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNoBackupBackend},
		harness.Want{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue},
	)
}
