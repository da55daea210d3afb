// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/rendertest"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// mounted maps paths to the volumes mounted there.
func mounted(template corev1.PodTemplateSpec) map[string]corev1.Volume {
	volumes := map[string]corev1.Volume{}
	for _, volume := range template.Spec.Volumes {
		volumes[volume.Name] = volume
	}
	out := map[string]corev1.Volume{}
	for _, mount := range template.Spec.Containers[0].VolumeMounts {
		out[mount.MountPath] = volumes[mount.Name]
	}
	return out
}

func TestExportsAreMountedWhereCinderLooks(t *testing.T) {
	c, f := nfs()
	const volumes = "/var/lib/cinder/mnt/6f3cb55ed3b423dbb7791aaf3783754f"
	backup, notes := workload.Backup(c, f)
	for name, template := range map[string]corev1.PodTemplateSpec{
		"volume service": workload.Volume(c, f, f.Backends[1]).Spec.Template, "backup service": backup.Spec.Template,
	} {
		csi := mounted(template)[volumes].CSI
		want := map[string]string{
			"server": "nfs-server.openstack.svc.cluster.local", "share": "/volumes", "mountOptions": "nfsvers=4.1,soft,timeo=30,retrans=2",
		}
		if csi == nil || csi.Driver != "nfs.csi.k8s.io" || !reflect.DeepEqual(csi.VolumeAttributes, want) {
			t.Errorf("the %s has %+v", name, csi)
		}
	}
	all := mounted(backup.Spec.Template)
	for _, path := range []string{
		"/var/lib/cinder/mnt/" + render.ExportHash("nfs-server.openstack.svc.cluster.local:/other"),
		"/var/lib/cinder/backup_mount/" + render.ExportHash("nfs-server.openstack.svc.cluster.local:/backups"),
	} {
		if all[path].CSI == nil {
			t.Errorf("the backup service does not mount %s", path)
		}
	}
	if len(notes.SharedExports) != 0 || len(notes.KeyringConflicts) != 0 {
		t.Errorf("notes without a reason: %+v", notes)
	}
	if mounted(workload.Volume(c, f, f.Backends[0]).Spec.Template)[volumes].Name != "" {
		t.Error("a volume service mounts another's export")
	}
}

func TestASharedExportIsMountedOnceWithTheFirstBackendsOptions(t *testing.T) {
	c, f := nfs()
	f.Backends = nil
	for _, b := range []struct{ name, options string }{{"c", "hard"}, {"a", "soft"}, {"b", "soft"}} {
		backend := rendertest.NFSBackend(b.name)
		backend.Spec.NFS.MountOptions = b.options
		f.Backends = append(f.Backends, render.NewBackend(backend, "secret-"+b.name, ""))
	}
	// The target names the same export; it has a mount of its own.
	f.Backup.NFS.Path = "/volumes"
	backup, notes := workload.Backup(c, f)
	all := mounted(backup.Spec.Template)
	const hash = "6f3cb55ed3b423dbb7791aaf3783754f"
	if csi := all["/var/lib/cinder/mnt/"+hash].CSI; csi == nil || csi.VolumeAttributes["mountOptions"] != "soft" {
		t.Errorf("the export is mounted as %+v", csi)
	}
	if csi := all["/var/lib/cinder/backup_mount/"+hash].CSI; csi == nil || csi.VolumeAttributes["mountOptions"] != "nfsvers=4.1,soft,timeo=30,retrans=2" {
		t.Errorf("the target is mounted as %+v", csi)
	}
	want := []workload.SharedExport{{Export: "nfs-server.openstack.svc.cluster.local:/volumes", Kept: "a", Ignored: "c"}}
	if !reflect.DeepEqual(notes.SharedExports, want) {
		t.Errorf("noted %+v, want %+v", notes.SharedExports, want)
	}
}

// cephItems lists "secret:key>path" of the volume at /etc/ceph, in order.
func cephItems(template corev1.PodTemplateSpec) []string {
	volume := mounted(template)["/etc/ceph"]
	if volume.Projected == nil {
		return nil
	}
	var items []string
	for _, source := range volume.Projected.Sources {
		for _, item := range source.Secret.Items {
			items = append(items, source.Secret.Name+":"+item.Key+">"+item.Path)
		}
	}
	return items
}

func TestCephFilesKeepTheirFirstWriter(t *testing.T) {
	c, f := plain()
	same := render.NewBackend(rendertest.RBDBackend("b-same"), "s-same", "key-1")
	other := render.NewBackend(rendertest.RBDBackend("c-other"), "s-other", "key-2")
	first := render.NewBackend(rendertest.RBDBackend("a-first"), "s-first", "key-1")
	apart := render.NewBackend(rendertest.RBDBackend("d-apart"), "s-apart", "key-3")
	apart.RBD.ClusterName = "site"
	f.Backends = []render.Backend{apart, other, same, first}

	f.Backup = render.NewBackupTarget(rendertest.NFSBackup("t"), "s-t", "")
	backup, notes := workload.Backup(c, f)
	if got, want := cephItems(backup.Spec.Template), []string{
		"s-first:keyring>ceph.client.cinder.keyring", "s-apart:keyring>site.client.cinder.keyring",
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("with an NFS target: %v, want %v", got, want)
	}
	if want := []workload.CephKeyringConflict{
		{Path: "/etc/ceph/ceph.client.cinder.keyring", Kept: `backend "a-first"`, Dropped: `backend "c-other"`, Backend: "c-other"},
	}; !reflect.DeepEqual(notes.KeyringConflicts, want) {
		t.Errorf("noted %+v, want %+v", notes.KeyringConflicts, want)
	}

	target := rendertest.RBDBackup("t")
	target.Spec.RBD.User = "cinder"
	f.Backup = render.NewBackupTarget(target, "s-t", "key-2")
	backup, notes = workload.Backup(c, f)
	if got, want := cephItems(backup.Spec.Template), []string{
		"s-t:ceph.conf>ceph.conf", "s-t:keyring>ceph.client.cinder.keyring", "s-apart:keyring>site.client.cinder.keyring",
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("with an RBD target: %v, want %v", got, want)
	}
	if len(notes.KeyringConflicts) != 2 || notes.KeyringConflicts[0].Kept != `backup target "t"` ||
		notes.KeyringConflicts[0].Dropped != `backend "a-first"` || notes.KeyringConflicts[1].Dropped != `backend "b-same"` {
		t.Errorf("noted %+v", notes.KeyringConflicts)
	}
}

func TestAnRBDVolumeServiceHasItsOwnCephFilesAlone(t *testing.T) {
	c, f := full()
	if got, want := cephItems(workload.Volume(c, f, f.Backends[0]).Spec.Template), []string{
		"cinder-backend-rbd-a-1:ceph.conf>ceph.conf", "cinder-backend-rbd-a-1:keyring>ceph.client.cinder.keyring",
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := cephItems(workload.Volume(c, f, f.Backends[1]).Spec.Template); got != nil {
		t.Errorf("an NFS volume service has %v", got)
	}
}

func TestTLSFilesAreMountedWhileTLSIsOn(t *testing.T) {
	c, f := full()
	template := workload.DBSync(c, f).Spec.Template
	tls := mounted(template)["/etc/cinder-db-tls"].Projected
	if tls == nil || len(tls.Sources) != 2 || tls.Sources[0].Secret.Items[0] != (corev1.KeyToPath{Key: "bundle.pem", Path: "ca.crt"}) {
		t.Errorf("the database's files are %+v", tls)
	}
	if ca := mounted(template)["/etc/rabbitmq-ca"].Secret; ca == nil || ca.SecretName != "bus-ca" ||
		ca.Items[0] != (corev1.KeyToPath{Key: "ca.crt", Path: "ca.crt"}) {
		t.Errorf("the broker's CA is %+v", ca)
	}
	c.Spec.Database.TLS.Mode, c.Spec.Messaging.TLS = "disabled", nil
	for path := range mounted(workload.DBSync(c, f).Spec.Template) {
		if path == "/etc/cinder-db-tls" || path == "/etc/rabbitmq-ca" {
			t.Errorf("%s is mounted without TLS", path)
		}
	}
}
