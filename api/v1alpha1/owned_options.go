// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"strings"
)

// The options of a backend's section that belong to the operator, whatever the driver.
var ownedBackendOptions = []string{
	"volume_driver", "volume_backend_name", "backend_host",
	"image_volume_cache_enabled", "image_volume_cache_max_size_gb", "image_volume_cache_max_count",
}

var ownedBackendDriverOptions = map[CinderBackendType][]string{
	CinderBackendTypeNFS: {
		"nfs_shares_config", "nfs_mount_options", "nfs_mount_point_base",
		"nas_secure_file_operations", "nas_secure_file_permissions",
		"nfs_snapshot_support", "nfs_sparsed_volumes", "nfs_qcow2_volumes",
	},
	CinderBackendTypeRBD: {
		"rbd_pool", "rbd_user", "rbd_cluster_name", "rbd_ceph_conf", "rbd_secret_uuid",
	},
}

// The same of the backup section.
var ownedBackupOptions = []string{"backup_driver", "host", "backup_use_same_host"}

var ownedBackupDriverOptions = map[CinderBackupBackendType][]string{
	CinderBackupBackendTypeNFS: {
		"backup_share", "backup_mount_options", "backup_file_size", "backup_compression_algorithm",
		"backup_mount_point_base",
	},
	CinderBackupBackendTypeRBD: {
		"backup_ceph_user", "backup_ceph_pool", "backup_ceph_conf",
	},
}

// The options of cinder.conf that extraConfig cannot set: a credential in a ConfigMap, or a value without which no process
// starts.
var rejectedExtraConfig = map[string][]string{
	"DEFAULT":            {"auth_strategy", "api_paste_config", "transport_url"},
	"database":           {"connection"},
	"keystone_authtoken": {"password"},
	"service_user":       {"password"},
	"nova":               {"password"},
	"cinder_sys_admin":   {"helper_command", "capabilities"},
	"privsep_osbrick":    {"helper_command", "capabilities"},
}

// DeniedExtraOptions returns the extraOptions that a backend of this type cannot set, because they belong to the
// operator. Admission refuses them, and the renderer leaves them out of an object that came past it.
func (t CinderBackendType) DeniedExtraOptions() []string {
	return slices.Concat(ownedBackendOptions, ownedBackendDriverOptions[t])
}

// DeniedExtraOptions returns the extraOptions that a backup target of this type cannot set, because they belong to the
// operator. Admission refuses them, and the renderer leaves them out of an object that came past it.
func (t CinderBackupBackendType) DeniedExtraOptions() []string {
	return slices.Concat(ownedBackupOptions, ownedBackupDriverOptions[t])
}

// RejectsExtraConfig tells whether extraConfig cannot set the option. Section names compare in lower case, DEFAULT alone
// as it is; option names are case-sensitive.
func RejectsExtraConfig(section, option string) bool {
	if section != "DEFAULT" {
		section = strings.ToLower(section)
	}
	return slices.Contains(rejectedExtraConfig[section], option)
}
