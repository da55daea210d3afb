// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package fuzz

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"c5c3.io/cinder-operator/api/admission"
	"c5c3.io/cinder-operator/api/catalog"
	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/conf"
	"c5c3.io/cinder-operator/internal/render/rendertest"
)

type file = map[string]map[string]string

func read(t *testing.T, text string) file {
	t.Helper()
	got, err := rendertest.ReadINI(text)
	if err != nil {
		t.Fatalf("the file cannot be read: %v\n%s", err, text)
	}
	return got
}

// onlyAdds wants of got what base has, with nothing but the given options besides or instead.
func onlyAdds(t *testing.T, base, got file, options map[[2]string]bool) {
	t.Helper()
	for section, keys := range got {
		for key, value := range keys {
			if options[[2]string{section, key}] {
				continue
			}
			if before, ok := base[section][key]; !ok {
				t.Errorf("[%s] %s was added", section, key)
			} else if before != value {
				t.Errorf("[%s] %s was changed to %q", section, key, value)
			}
		}
	}
	for section, keys := range base {
		for key := range keys {
			if _, ok := got[section][key]; !ok {
				t.Errorf("[%s] %s was taken away", section, key)
			}
		}
	}
}

func sameFiles(t *testing.T, base, got map[string]string) {
	t.Helper()
	want := slices.Sorted(maps.Keys(base))
	if files := slices.Sorted(maps.Keys(got)); !slices.Equal(want, files) {
		t.Errorf("the files are %q, want %q", files, want)
	}
}

func FuzzExtraConfig(f *testing.F) {
	for _, seed := range [][5]string{
		{"2026.1", "DEFAULT", "debug", "true", "$state_path"},
		{"2026.2", "DataBase", "max_pool_size", "5", "\"5\""},
		{"2026.1", "database", "connection", "mysql://", "x"},
		{"2031.1", "DEFAULT", "host\n[x]", "a", "b"},
		{"2031.1", "x]\n[y", "key = value", "a\n b", "a\r[z]"},
		{"2031.1", "new", " indented", "; comment", "# comment"},
		{"2031.1", "NEW", "k", "\u2028x = y", "\u0085"},
		{"2031.1", "Keystone_Authtoken", "password", "a", "\x00"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	base, _, err := conf.Shared(rendertest.KeystoneCinder(), "")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, release, section, key, value, other string) {
		if len(section)+len(key)+len(value)+len(other) > 1<<14 {
			return // longer than a line that the reader takes
		}
		c := rendertest.KeystoneCinder()
		c.Spec.OpenStackRelease = release
		c.Spec.ExtraConfig = map[string]map[string]string{section: {key: value, "debug": other}}
		if _, errs := admission.ValidateCinder(c, nil, admission.CinderFacts{}); len(errs) > 0 {
			return
		}
		data, _, err := conf.Shared(c, "")
		if err != nil {
			t.Fatalf("what was admitted cannot be rendered: %v", err)
		}
		sameFiles(t, base, data)
		name := catalog.SectionName(section)
		onlyAdds(t, read(t, base[render.KeyCinderConf]), read(t, data[render.KeyCinderConf]), map[[2]string]bool{
			{name, key}: true, {name, "debug"}: true,
		})
		if data[render.KeySchedulerConf] != base[render.KeySchedulerConf] {
			t.Error("another file was changed")
		}
	})
}

func FuzzExtraOptions(f *testing.F) {
	for _, seed := range [][2]string{
		{"nfs_mount_attempts", "5"},
		{"volume_driver", "x"},
		{"rbd_flatten_volume_from_snapshot", "$other"},
		{"a\n[DEFAULT]", "x"},
		{"a", "x\nhost = y"},
		{"a", "x\r[y]"},
		{"HOST", "'quoted"},
		{"backup_ceph_chunk_size", " 1 "},
	} {
		f.Add(seed[0], seed[1])
	}
	const cephKey = "AQBzm0VoQ2x9JBAAeT1n6hV4cRk8yL2oWq5dXg=="
	f.Fuzz(func(t *testing.T, key, value string) {
		options := map[string]string{key: value}
		for _, b := range []*v1alpha1.CinderBackend{rendertest.NFSBackend("nfs-a"), rendertest.RBDBackend("rbd-a")} {
			b.Spec.ExtraOptions = nil
			base, err := conf.Backend("cinder", b, cephKey)
			if err != nil {
				t.Fatal(err)
			}
			b.Spec.ExtraOptions = options
			if _, errs := admission.ValidateCinderBackend(b, nil, admission.CinderBackendFacts{}); len(errs) > 0 {
				continue
			}
			got, err := conf.Backend("cinder", b, cephKey)
			if err != nil {
				t.Fatalf("what was admitted cannot be rendered: %v", err)
			}
			compare(t, base, got, render.KeyBackendConf, [2]string{b.Name, key})
		}
		for _, b := range []*v1alpha1.CinderBackupBackend{rendertest.NFSBackup("nfs-b"), rendertest.RBDBackup("rbd-b")} {
			b.Spec.ExtraOptions = nil
			base, err := conf.Backup("cinder", b, cephKey)
			if err != nil {
				t.Fatal(err)
			}
			b.Spec.ExtraOptions = options
			if _, errs := admission.ValidateCinderBackupBackend(b, nil, admission.CinderBackupBackendFacts{}); len(errs) > 0 {
				continue
			}
			got, err := conf.Backup("cinder", b, cephKey)
			if err != nil {
				t.Fatalf("what was admitted cannot be rendered: %v", err)
			}
			compare(t, base, got, render.KeyBackupConf, [2]string{"DEFAULT", key})
		}
	})
}

// compare wants the option in one file, where it replaces nothing of the operator's, and every other file as it was.
func compare(t *testing.T, base, got map[string]string, name string, option [2]string) {
	t.Helper()
	sameFiles(t, base, got)
	before := read(t, base[name])
	if _, owned := before[option[0]][option[1]]; owned {
		t.Errorf("[%s] %s is the operator's and was admitted", option[0], option[1])
	}
	onlyAdds(t, before, read(t, got[name]), map[[2]string]bool{option: true})
	for file, text := range base {
		if file != name && got[file] != text {
			t.Errorf("%s was changed", file)
		}
	}
}

// A key Secret and the fields of a pool end up in two files that Ceph reads: each has the lines it always has.
func FuzzCephFiles(f *testing.F) {
	f.Add("volumes", "cinder", "mon-a:6789", "ceph", "AQBzm0VoQ2x9JBAAeT1n6hV4cRk8yL2oWq5dXg==\n")
	f.Add("a\nb", "client.x", "a,b", "../x", "AQ==")
	f.Add("v", "c]\n[client.admin", "a\nkeyring = /x", "c/d", "AQ==\n[client.admin]")
	f.Add("v", "c", "a b", "", "QUFB\r\nQUFB")
	f.Add("v", "c", "a", "x", "\u2028")
	f.Add("v", "c", "a", "x", "c4nary!")
	f.Fuzz(func(t *testing.T, pool, user, monitor, cluster, key string) {
		b := rendertest.RBDBackend("rbd-a")
		b.Spec.ExtraOptions = nil
		b.Spec.RBD.Pool, b.Spec.RBD.User, b.Spec.RBD.ClusterName = pool, user, cluster
		b.Spec.RBD.Monitors = []v1alpha1.CephHost{v1alpha1.CephHost(monitor)}
		if _, errs := admission.ValidateCinderBackend(b, nil, admission.CinderBackendFacts{}); len(errs) > 0 {
			// Past admission as well: an object may be older than the rules.
			if data, err := conf.Backend("cinder", b, "AQ=="); err == nil {
				cephFiles(t, data, b, "AQ==")
			}
			return
		}
		trimmed, err := conf.CephKey("key", []byte(key))
		if err != nil {
			if strings.Contains(err.Error(), "c4nary!") {
				t.Errorf("the refusal tells the key: %v", err)
			}
			return
		}
		data, err := conf.Backend("cinder", b, trimmed)
		if err != nil {
			t.Fatalf("what was admitted cannot be rendered: %v", err)
		}
		cephFiles(t, data, b, trimmed)
	})
}

func cephFiles(t *testing.T, data map[string]string, b *v1alpha1.CinderBackend, key string) {
	t.Helper()
	if strings.ContainsAny(data[render.KeyCephConf]+data[render.KeyKeyring], "\r\x00") {
		t.Error("a control character was written")
	}
	got := read(t, data[render.KeyCephConf])
	cluster := b.Spec.RBD.EffectiveClusterName()
	want := map[string]string{
		"mon_host": string(b.Spec.RBD.Monitors[0]),
		"keyring":  "/etc/ceph/" + cluster + ".client." + b.Spec.RBD.User + ".keyring",
		"log_file": "/dev/null", "admin_socket": "/tmp/$cluster-$name.$pid.$cctid.asok",
	}
	if len(got) != 1 || !maps.Equal(got["global"], want) {
		t.Errorf("ceph.conf is read as %q, want %q", got, want)
	}
	lines := strings.Split(data[render.KeyKeyring], "\n")
	if len(lines) != 3 || lines[0] != "[client."+b.Spec.RBD.User+"]" || lines[1] != "\tkey = "+key || lines[2] != "" {
		t.Errorf("the keyring has the lines %q", lines)
	}
	if conf.KeyringKey(data[render.KeyKeyring]) != key {
		t.Error("the key is not read back")
	}
	if strings.Contains(cluster+b.Spec.RBD.User, "/") {
		t.Error("a file name leads out of its folder")
	}
}
