// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"fmt"
	"strconv"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/ini"
)

const (
	nfsBackupDriver  = "cinder.backup.drivers.nfs.NFSBackupDriver"
	cephBackupDriver = "cinder.backup.drivers.ceph.CephBackupDriver"
)

// Backup renders the data of the Secret that the backup service mounts for its
// target: backup.conf, and for RBD ceph.conf and keyring. cinder is the name
// of the Cinder, key the cephx key of an RBD target as CephKey returned it.
// The error says that the block of the target's type is missing or which value
// cannot be written.
func Backup(cinder string, b *v1alpha1.CinderBackupBackend, key string) (map[string]string, error) {
	doc := ini.New()
	set := func(key, value string) { doc.Set(ini.DefaultSection, key, value) }
	addOptions(doc, ini.DefaultSection, b.Spec.ExtraOptions, b.Spec.Type.DeniedExtraOptions())
	set("backup_use_same_host", "false")
	set("host", render.BackupHost(cinder))

	data := map[string]string{}
	switch {
	case b.Spec.Type == v1alpha1.CinderBackupBackendTypeNFS && b.Spec.NFS != nil:
		// The export is no shares line, but its mount point is found in the
		// same way: the same characters are trouble.
		if _, err := shares(b.Spec.NFS.NFSExportSpec); err != nil {
			return nil, err
		}
		set("backup_compression_algorithm", string(b.Spec.EffectiveCompression()))
		set("backup_driver", nfsBackupDriver)
		set("backup_file_size", strconv.FormatInt(b.Spec.EffectiveFileSize(), 10))
		set("backup_mount_options", b.Spec.NFS.EffectiveMountOptions())
		set("backup_mount_point_base", render.BackupMounts)
		set("backup_share", b.Spec.NFS.Export())
	case b.Spec.Type == v1alpha1.CinderBackupBackendTypeRBD && b.Spec.RBD != nil:
		set("backup_ceph_conf", render.CephDir+"/"+render.CephConfName(b.Spec.RBD.EffectiveClusterName()))
		set("backup_ceph_pool", b.Spec.RBD.Pool)
		set("backup_ceph_user", b.Spec.RBD.User)
		set("backup_driver", cephBackupDriver)
		if err := addCephFiles(data, b.Spec.RBD.RBDPoolSpec, key); err != nil {
			return nil, err
		}
	default:
		return nil, missingBlock(string(b.Spec.Type))
	}

	var err error
	if data[render.KeyBackupConf], err = doc.Render(); err != nil {
		return nil, fmt.Errorf("render %s: %w", render.KeyBackupConf, err)
	}
	return data, nil
}
