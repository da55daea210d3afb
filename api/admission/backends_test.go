// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestRulesOfABackendBesideTheSchema(t *testing.T) {
	type B = v1alpha1.CinderBackend
	option := func(key, value string) func(*B) {
		return func(b *B) { b.Spec.ExtraOptions = map[string]string{key: value} }
	}
	named := func(name string) func(*B) { return func(b *B) { b.Name = name } }
	same := func(*B) {}
	for name, tc := range map[string]struct {
		base     func() *B
		new, old func(*B)
		want     []string
		warn     []string
	}{
		"an NFS backend":                         {new: same},
		"an RBD backend":                         {base: newRBDBackend, new: same},
		"a name that is the default section":     {new: named("default"), want: []string{"metadata.name: name must not be \"default\""}},
		"the same in capitals":                   {new: named("DEFAULT"), old: named("DEFAULT"), want: []string{"metadata.name: name must not be \"default\""}},
		"a name that is a section":               {new: named("nova"), want: []string{"metadata.name: name must not be that of a section of cinder.conf"}},
		"a name that is a section with a hyphen": {new: named("fc-zone-manager"), want: []string{"metadata.name: name must not be that of a section of cinder.conf"}},
		"a name that became a section later":     {new: named("nova"), old: named("nova"), warn: []string{"metadata.name: \"nova\" is the name of a section of cinder.conf"}},
		"a name with the separator of hosts":     {new: named("a@b"), old: named("a@b"), want: []string{"metadata.name: name must not contain @ or #"}},
		"a name with the separator of pools":     {new: named("a#b"), old: named("a#b"), want: []string{"metadata.name: name must not contain @ or #"}},
		"a name with a dot":                      {new: named("a.b"), want: []string{"metadata.name: must not contain dots"}},
		"such a name that was let in before":     {new: named("a.b"), old: named("a.b")},
		"a name that starts with a digit":        {new: named("1a")},
		"a name of 35 characters":                {new: named(strings.Repeat("b", 35))},
		"a name of 36 characters":                {new: named(strings.Repeat("b", 36)), want: []string{"metadata.name: name must be at most 35 characters"}},
		"a long name that was let in before":     {new: named(strings.Repeat("b", 36)), old: named(strings.Repeat("b", 36))},
		"names of 47 characters":                 {new: func(b *B) { b.Name = strings.Repeat("b", 30); b.Spec.CinderRef.Name = strings.Repeat("c", 17) }},
		"names of 48 characters":                 {new: func(b *B) { b.Name = strings.Repeat("b", 30); b.Spec.CinderRef.Name = strings.Repeat("c", 18) }, want: []string{"metadata.name: name and cinderRef.name must together be at most 47 characters"}},
		"an option of the driver":                {new: option("nfs_mount_attempts", "5")},
		"an option of the other driver":          {new: option("rbd_pool", "x")},
		"an option that is no name":              {new: option("a-b", "c"), want: []string{"spec.extraOptions[a-b]: the option name must match ^[A-Za-z0-9_]+$"}},
		"an option without a name":               {new: option("", "c"), want: []string{"spec.extraOptions[]: the option name must match"}},
		"an option that opens a section":         {new: option("[DEFAULT]\na", "c"), want: []string{"the option name must match"}},
		"a value that adds an option":            {new: option("nfs_mount_attempts", "5\nhost = x"), want: []string{"spec.extraOptions[nfs_mount_attempts]: the value must not contain a newline or carriage return"}},
		"a value with a carriage return":         {new: option("nfs_mount_attempts", "5\rhost = x"), want: []string{"spec.extraOptions[nfs_mount_attempts]: the value must not contain a newline or carriage return"}},
		"a cache without bounds":                 {new: func(b *B) { b.Spec.ImageVolumeCache = &v1alpha1.ImageVolumeCacheSpec{Enabled: true} }},
		"a path with a line break":               {new: func(b *B) { b.Spec.NFS.Path = "/a\n/b" }, want: []string{"spec.nfs.path: should match '^/[!-~]*$'"}},
		"a path with a line break at its end":    {new: func(b *B) { b.Spec.NFS.Path = "/a\n" }, want: []string{"spec.nfs.path: should match '^/[!-~]*$'"}},
		"mount options with a tab":               {new: func(b *B) { b.Spec.NFS.MountOptions = "a\tb" }, want: []string{"spec.nfs.mountOptions: must not contain a control character"}},
		"another Cinder":                         {new: func(b *B) { b.Spec.CinderRef.Name = "other" }, old: same, want: []string{"spec.cinderRef: cinderRef is immutable"}},
	} {
		t.Run(name, func(t *testing.T) {
			base := tc.base
			if base == nil {
				base = newNFSBackend
			}
			obj := base()
			tc.new(obj)
			var old *B
			if tc.old != nil {
				old = base()
				tc.old(old)
			}
			warnings, errs := ValidateCinderBackend(obj, old, CinderBackendFacts{})
			wantWarnings(t, warnings, tc.warn)
			if name == "an option that opens a section" {
				if len(errs) != 1 || !strings.Contains(errs[0].Detail, tc.want[0]) {
					t.Errorf("violations:\n%s", list(errs))
				}
				return
			}
			wantErrors(t, errs, tc.want)
		})
	}
}

func TestTheOptionsOfTheOperatorAreDeniedForEachDriver(t *testing.T) {
	shared := []string{"volume_driver", "volume_backend_name", "backend_host", "image_volume_cache_enabled", "image_volume_cache_max_size_gb", "image_volume_cache_max_count"}
	for _, tc := range []struct {
		obj    *v1alpha1.CinderBackend
		denied []string
	}{
		{newNFSBackend(), append([]string{"nfs_shares_config", "nfs_mount_options", "nfs_mount_point_base", "nas_secure_file_operations", "nas_secure_file_permissions", "nfs_snapshot_support", "nfs_sparsed_volumes", "nfs_qcow2_volumes"}, shared...)},
		{newRBDBackend(), append([]string{"rbd_pool", "rbd_user", "rbd_cluster_name", "rbd_ceph_conf", "rbd_secret_uuid"}, shared...)},
	} {
		for _, key := range tc.denied {
			tc.obj.Spec.ExtraOptions = map[string]string{key: "x"}
			_, errs := ValidateCinderBackend(tc.obj, nil, CinderBackendFacts{})
			wantErrors(t, errs, []string{"spec.extraOptions[" + key + "]: " + key + " is set by the operator and cannot be overridden"})
		}
	}
	backupShared := []string{"backup_driver", "host", "backup_use_same_host"}
	for _, tc := range []struct {
		obj    *v1alpha1.CinderBackupBackend
		denied []string
		free   string
	}{
		{newNFSBackup(), append([]string{"backup_share", "backup_mount_options", "backup_file_size", "backup_compression_algorithm", "backup_mount_point_base"}, backupShared...), "backup_ceph_pool"},
		{newBackup("backup"), append([]string{"backup_ceph_user", "backup_ceph_pool", "backup_ceph_conf"}, backupShared...), "backup_file_size"},
	} {
		for _, key := range tc.denied {
			tc.obj.Spec.ExtraOptions = map[string]string{key: "x"}
			_, errs := ValidateCinderBackupBackend(tc.obj, nil, CinderBackupBackendFacts{})
			wantErrors(t, errs, []string{"spec.extraOptions[" + key + "]: " + key + " is set by the operator and cannot be overridden"})
		}
		tc.obj.Spec.ExtraOptions = map[string]string{tc.free: "x", "backup_ceph_chunk_size": "1"}
		if _, errs := ValidateCinderBackupBackend(tc.obj, nil, CinderBackupBackendFacts{}); len(errs) > 0 {
			t.Errorf("an option of the other driver is denied:\n%s", list(errs))
		}
	}
}

func newNFSBackup() *v1alpha1.CinderBackupBackend {
	b := newBackup("backup")
	b.Spec.Type, b.Spec.RBD = v1alpha1.CinderBackupBackendTypeNFS, nil
	b.Spec.NFS = &v1alpha1.NFSBackupBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{Server: "nfs", Path: "/backups"}}
	return b
}

func TestWhatAPatternCannotSayOfACephCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.RBDPoolSpec)
		want   []string
	}{
		"the lowest and the highest port": {func(p *v1alpha1.RBDPoolSpec) { p.Monitors = []v1alpha1.CephHost{"a:1", "b:65535"} }, nil},
		"port zero":                       {func(p *v1alpha1.RBDPoolSpec) { p.Monitors = []v1alpha1.CephHost{"a:0"} }, []string{"spec.rbd.monitors[0]: the port must be between 1 and 65535"}},
		"a port that is too high":         {func(p *v1alpha1.RBDPoolSpec) { p.Monitors = []v1alpha1.CephHost{"a", "b:65536"} }, []string{"spec.rbd.monitors[1]: the port must be between 1 and 65535"}},
		"one host":                        {func(p *v1alpha1.RBDPoolSpec) { p.Networks = []v1alpha1.IPv4CIDR{"10.1.2.3/32", "0.0.0.0/0"} }, nil},
		"host bits":                       {func(p *v1alpha1.RBDPoolSpec) { p.Networks = []v1alpha1.IPv4CIDR{"10.1.2.3/8"} }, []string{"spec.rbd.networks[0]: must be an IPv4 CIDR in its canonical form"}},
		"an octet that is none":           {func(p *v1alpha1.RBDPoolSpec) { p.Networks = []v1alpha1.IPv4CIDR{"10.256.0.0/16"} }, []string{"spec.rbd.networks[0]: must be an IPv4 CIDR in its canonical form"}},
		"a prefix that is too long":       {func(p *v1alpha1.RBDPoolSpec) { p.Networks = []v1alpha1.IPv4CIDR{"10.0.0.0/33"} }, []string{"spec.rbd.networks[0]: must be an IPv4 CIDR in its canonical form"}},
		"leading zeros":                   {func(p *v1alpha1.RBDPoolSpec) { p.Networks = []v1alpha1.IPv4CIDR{"010.0.0.0/8"} }, []string{"spec.rbd.networks[0]: must be an IPv4 CIDR in its canonical form"}},
		"a pool with a line break": {func(p *v1alpha1.RBDPoolSpec) { p.Pool = "a\nb" }, []string{
			"spec.rbd.pool: should match", "spec.rbd.pool: must not contain a newline or carriage return"}},
		"a user with a line break": {func(p *v1alpha1.RBDPoolSpec) { p.User = "a\n" }, []string{
			"spec.rbd.user: should match", "spec.rbd.user: must not contain a newline or carriage return"}},
		"a cluster with a line break": {func(p *v1alpha1.RBDPoolSpec) { p.ClusterName = "a\r" }, []string{
			"spec.rbd.clusterName: should match", "spec.rbd.clusterName: must not contain a newline or carriage return"}},
		"a monitor with a line break": {func(p *v1alpha1.RBDPoolSpec) { p.Monitors = []v1alpha1.CephHost{"a\n"} }, []string{
			"spec.rbd.monitors[0]: should match", "spec.rbd.monitors[0]: must not contain a newline or carriage return"}},
		"a user with its prefix":       {func(p *v1alpha1.RBDPoolSpec) { p.User = "client.cinder" }, []string{"spec.rbd.user: user must not carry the client. prefix"}},
		"a key Secret that is no name": {func(p *v1alpha1.RBDPoolSpec) { p.KeySecretRef.Name = "Key" }, []string{"spec.rbd.keySecretRef.name: should match"}},
	} {
		t.Run(name, func(t *testing.T) {
			backend, backup := newRBDBackend(), newBackup("backup")
			tc.change(&backend.Spec.RBD.RBDPoolSpec)
			tc.change(&backup.Spec.RBD.RBDPoolSpec)
			_, errs := ValidateCinderBackend(backend, nil, CinderBackendFacts{})
			wantErrors(t, errs, tc.want)
			_, errs = ValidateCinderBackupBackend(backup, nil, CinderBackupBackendFacts{})
			wantErrors(t, errs, tc.want)
		})
	}
}

func TestTheImageCacheIsWarnedAboutWhileNobodyOwnsIt(t *testing.T) {
	const warning = "Cinder \"cinder\" has no spec.internalTenant"
	enabled := func() *v1alpha1.CinderBackend {
		b := newNFSBackend()
		b.Spec.ImageVolumeCache = &v1alpha1.ImageVolumeCacheSpec{Enabled: true}
		return b
	}
	without, with := newCinder(), newCinder()
	with.Spec.InternalTenant = &v1alpha1.InternalTenantSpec{ProjectID: "p", UserID: "u"}
	for name, tc := range map[string]struct {
		old    *v1alpha1.CinderBackend
		parent *v1alpha1.Cinder
		want   []string
	}{
		"without a tenant":                   {nil, without, []string{warning}},
		"with a tenant":                      {nil, with, nil},
		"without a Cinder":                   {nil, nil, nil},
		"when it is switched on":             {newNFSBackend(), without, []string{warning}},
		"not when something else is changed": {enabled(), without, nil},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, errs := ValidateCinderBackend(enabled(), tc.old, CinderBackendFacts{Parent: tc.parent})
			wantErrors(t, errs, nil)
			wantWarnings(t, warnings, tc.want)
		})
	}
}

func TestACinderHasOneBackupTarget(t *testing.T) {
	const violation = "spec.cinderRef.name: Cinder \"cinder\" already has CinderBackupBackend \"other\""
	other, terminating, elsewhere := newBackup("other"), newBackup("other"), newBackup("other")
	terminating.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0)))
	elsewhere.Spec.CinderRef.Name = "another"
	for name, tc := range map[string]struct {
		siblings []*v1alpha1.CinderBackupBackend
		want     []string
	}{
		"alone":                        {nil, nil},
		"beside itself":                {[]*v1alpha1.CinderBackupBackend{newBackup("backup")}, nil},
		"beside another":               {[]*v1alpha1.CinderBackupBackend{newBackup("backup"), other}, []string{violation}},
		"beside one that goes":         {[]*v1alpha1.CinderBackupBackend{terminating}, nil},
		"beside one of another Cinder": {[]*v1alpha1.CinderBackupBackend{elsewhere}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			facts := CinderBackupBackendFacts{}
			for _, s := range tc.siblings {
				facts.Siblings = append(facts.Siblings, *s)
			}
			_, errs := ValidateCinderBackupBackend(newBackup("backup"), nil, facts)
			wantErrors(t, errs, tc.want)
			_, errs = ValidateCinderBackupBackend(newBackup("backup"), newBackup("backup"), facts)
			wantErrors(t, errs, tc.want)
		})
	}
}
