// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf_test

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/conf"
	"c5c3.io/cinder-operator/internal/render/rendertest"
)

const cephKey = "AQBzm0VoQ2x9JBAAeT1n6hV4cRk8yL2oWq5dXg=="

func TestBackendFiles(t *testing.T) {
	cached := rendertest.NFSBackend("nfs-a")
	cached.Spec.ImageVolumeCache = &v1alpha1.ImageVolumeCacheSpec{Enabled: true, MaxSizeGB: ptr.To[int32](200), MaxCount: ptr.To[int32](50)}
	cached.Spec.NFS.MountOptions = "nfsvers=4.2"
	cached.Spec.ExtraOptions = map[string]string{
		"max_over_subscription_ratio": "10.0", "nfs_mount_attempts": "$x", "volume_driver": "evil", "nfs_qcow2_volumes": "evil",
		// Denied where the operator renders none of that name.
		"backend_host": "evil", "image_volume_cache_max_count": "evil",
	}
	plain := rendertest.NFSBackend("nfs-a")
	plain.Spec.ExtraOptions = map[string]string{"image_volume_cache_enabled": "evil"}
	for name, b := range map[string]*v1alpha1.CinderBackend{
		"nfs": plain, "nfs-cached": cached, "rbd": rendertest.RBDBackend("rbd-a"),
	} {
		t.Run(name, func(t *testing.T) {
			key := ""
			if b.Spec.RBD != nil {
				key = cephKey
			}
			render := func() string {
				data, err := conf.Backend("cinder", b, key)
				if err != nil {
					t.Fatal(err)
				}
				return joined(data)
			}
			text := render()
			rendertest.Golden(t, "backend/"+name+".txt", text)
			rendertest.Stable(t, render)
			if strings.Contains(text, "evil") {
				t.Errorf("a denied option was written:\n%s", text)
			}
		})
	}
}

func TestBackupFiles(t *testing.T) {
	options := rendertest.RBDBackup("rbd-backups")
	options.Spec.RBD.ClusterName = "site"
	options.Spec.RBD.Monitors = []v1alpha1.CephHost{"mon-b:6789", "10.0.0.1"}
	options.Spec.ExtraOptions = map[string]string{
		"backup_ceph_chunk_size": "1048576", "backup_ceph_pool": "evil", "host": "evil", "backup_ceph_conf": "evil",
		// The NFS driver's name is free on an RBD target.
		"backup_file_size": "1",
	}
	nfs := rendertest.NFSBackup("nfs-backups")
	nfs.Spec.ExtraOptions = map[string]string{"backup_mount_point_base": "evil", "backup_driver": "evil"}
	for name, b := range map[string]*v1alpha1.CinderBackupBackend{
		"nfs": nfs, "rbd": rendertest.RBDBackup("rbd-backups"), "rbd-options": options,
	} {
		t.Run(name, func(t *testing.T) {
			key := ""
			if b.Spec.RBD != nil {
				key = cephKey
			}
			render := func() string {
				data, err := conf.Backup("cinder", b, key)
				if err != nil {
					t.Fatal(err)
				}
				return joined(data)
			}
			text := render()
			rendertest.Golden(t, "backup/"+name+".txt", text)
			rendertest.Stable(t, render)
			if strings.Contains(text, "evil") {
				t.Errorf("a denied option was written:\n%s", text)
			}
		})
	}
}

func TestABackendThatCannotBeRenderedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.CinderBackendSpec)
		says   string
	}{
		"no block":            {func(s *v1alpha1.CinderBackendSpec) { s.NFS = nil }, "spec.nfs is not set"},
		"the other block":     {func(s *v1alpha1.CinderBackendSpec) { s.Type = "RBD" }, "spec.rbd is not set"},
		"an unknown type":     {func(s *v1alpha1.CinderBackendSpec) { s.Type = "LVM" }, "LVM"},
		"a line in the path":  {func(s *v1alpha1.CinderBackendSpec) { s.NFS.Path = "/a\nother:/b" }, "control character"},
		"a blank in the path": {func(s *v1alpha1.CinderBackendSpec) { s.NFS.Path = "/a b" }, "white space"},
		"a comment":           {func(s *v1alpha1.CinderBackendSpec) { s.NFS.Server = "#x" }, "#"},
		"mount options":       {func(s *v1alpha1.CinderBackendSpec) { s.NFS.MountOptions = "a\n[DEFAULT]" }, "nfs_mount_options"},
		"an option's value":   {func(s *v1alpha1.CinderBackendSpec) { s.ExtraOptions = map[string]string{"x": "1\r[y]"} }, "[nfs-a] x"},
		"an option's key":     {func(s *v1alpha1.CinderBackendSpec) { s.ExtraOptions = map[string]string{"x\n[y]": "1"} }, "the key"},
	} {
		t.Run(name, func(t *testing.T) {
			b := rendertest.NFSBackend("nfs-a")
			c.change(&b.Spec)
			data, err := conf.Backend("cinder", b, "")
			if err == nil || data != nil {
				t.Fatalf("rendered:\n%s", joined(data))
			}
			if !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("the error %q does not say %q on one line", err, c.says)
			}
		})
	}
}

func TestABackupTargetThatCannotBeRenderedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.CinderBackupBackendSpec)
		key    string
		says   string
	}{
		"no block":           {func(s *v1alpha1.CinderBackupBackendSpec) { s.RBD = nil }, cephKey, "spec.rbd is not set"},
		"no key":             {func(*v1alpha1.CinderBackupBackendSpec) {}, "", "userKey is empty"},
		"a line in the key":  {func(*v1alpha1.CinderBackupBackendSpec) {}, "AAAA\nBBBB", "userKey carries"},
		"a line in the pool": {func(s *v1alpha1.CinderBackupBackendSpec) { s.RBD.Pool = "a\nb" }, cephKey, "spec.rbd.pool"},
		"a line in the user": {func(s *v1alpha1.CinderBackupBackendSpec) { s.RBD.User = "a\nkey = x" }, cephKey, "spec.rbd.user"},
		"a path as user":     {func(s *v1alpha1.CinderBackupBackendSpec) { s.RBD.User = "../x" }, cephKey, "/"},
		"a network that is none": {func(s *v1alpha1.CinderBackupBackendSpec) {
			s.RBD.Networks = []v1alpha1.IPv4CIDR{"10.0.0.0/8", "999.0.0.0/8"}
		}, cephKey, "spec.rbd.networks[1]"},
		"an IPv6 network": {func(s *v1alpha1.CinderBackupBackendSpec) {
			s.RBD.Networks = []v1alpha1.IPv4CIDR{"2001:db8::/64"}
		}, cephKey, "spec.rbd.networks[0]"},
		"a line in a monitor": {func(s *v1alpha1.CinderBackupBackendSpec) {
			s.RBD.Monitors = []v1alpha1.CephHost{"a", "b\nkeyring = x"}
		}, cephKey, "spec.rbd.monitors"},
	} {
		t.Run(name, func(t *testing.T) {
			b := rendertest.RBDBackup("rbd-backups")
			c.change(&b.Spec)
			data, err := conf.Backup("cinder", b, c.key)
			if err == nil || data != nil {
				t.Fatalf("rendered:\n%s", joined(data))
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "AAAA") || strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("the error %q does not say %q without the key", err, c.says)
			}
		})
	}
}

func TestCephKeys(t *testing.T) {
	if got, err := conf.CephKey("s", []byte("  "+cephKey+"\n")); err != nil || got != cephKey {
		t.Errorf("a key with blanks around it gives %q, %v", got, err)
	}
	for raw, want := range map[string]string{
		"":                   `Secret "s" carries an empty userKey`,
		" \n":                `Secret "s" carries an empty userKey`,
		"not a key!":         `Secret "s" carries a userKey that is not a cephx key (base64 expected)`,
		"AQBz\nm0VoQ2x9JBAA": `Secret "s" carries a userKey that is not a cephx key (base64 expected)`,
		"AQBz-_==":           `Secret "s" carries a userKey that is not a cephx key (base64 expected)`,
	} {
		if got, err := conf.CephKey("s", []byte(raw)); err == nil || err.Error() != want || got != "" {
			t.Errorf("%q gives %q, %v", raw, got, err)
		}
	}
}
