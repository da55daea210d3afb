// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"maps"
	"slices"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/ini"
)

// deniedBackendOptions are the extraOptions of a CinderBackend that belong to
// the operator: the shared ones under the empty type, and each driver's.
var deniedBackendOptions = map[v1alpha1.CinderBackendType][]string{
	"": {
		"volume_driver", "volume_backend_name", "backend_host",
		"image_volume_cache_enabled", "image_volume_cache_max_size_gb", "image_volume_cache_max_count",
	},
	v1alpha1.CinderBackendTypeNFS: {
		"nfs_shares_config", "nfs_mount_options", "nfs_mount_point_base",
		"nas_secure_file_operations", "nas_secure_file_permissions",
		"nfs_snapshot_support", "nfs_sparsed_volumes", "nfs_qcow2_volumes",
	},
	v1alpha1.CinderBackendTypeRBD: {
		"rbd_pool", "rbd_user", "rbd_cluster_name", "rbd_ceph_conf", "rbd_secret_uuid",
	},
}

// deniedBackupOptions are the same of a CinderBackupBackend.
var deniedBackupOptions = map[v1alpha1.CinderBackupBackendType][]string{
	"": {"backup_driver", "host", "backup_use_same_host"},
	v1alpha1.CinderBackupBackendTypeNFS: {
		"backup_share", "backup_mount_options", "backup_file_size", "backup_compression_algorithm",
		"backup_mount_point_base",
	},
	v1alpha1.CinderBackupBackendTypeRBD: {
		"backup_ceph_user", "backup_ceph_pool", "backup_ceph_conf",
	},
}

// addOptions writes extraOptions as they are, without the denied ones: these
// are left out even where the operator renders none of that name.
func addOptions(doc *ini.Document, section string, options map[string]string, denied ...[]string) {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if slices.ContainsFunc(denied, func(list []string) bool { return slices.Contains(list, key) }) {
			continue
		}
		doc.SetVerbatim(section, key, options[key])
	}
}
