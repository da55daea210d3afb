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
	nfsDriver = "cinder.volume.drivers.nfs.NfsDriver"
	rbdDriver = "cinder.volume.drivers.rbd.RBDDriver"
)

// Backend renders the data of the Secret that the volume service of a backend
// mounts. NFS: backend.conf, shares and volume.conf. RBD: backend.conf,
// volume.conf, ceph.conf and keyring. cinder is the name of the Cinder, key the
// cephx key of an RBD backend as CephKey returned it. The error says that the
// block of the backend's type is missing or which value cannot be written.
func Backend(cinder string, b *v1alpha1.CinderBackend, key string) (map[string]string, error) {
	doc := ini.New()
	set := func(key, value string) { doc.Set(b.Name, key, value) }
	addOptions(doc, b.Name, b.Spec.ExtraOptions, b.Spec.Type.DeniedExtraOptions())
	set("backend_host", cinder)
	set("volume_backend_name", b.Name)
	setImageCache(doc, b)

	data := map[string]string{}
	switch {
	case b.Spec.Type == v1alpha1.CinderBackendTypeNFS && b.Spec.NFS != nil:
		setNFS(doc, b)
		shares, err := shares(b.Spec.NFS.NFSExportSpec)
		if err != nil {
			return nil, err
		}
		data[render.KeyShares] = shares
	case b.Spec.Type == v1alpha1.CinderBackendTypeRBD && b.Spec.RBD != nil:
		setRBD(doc, b)
		if err := addCephFiles(data, b.Spec.RBD.RBDPoolSpec, key); err != nil {
			return nil, err
		}
	default:
		return nil, missingBlock(string(b.Spec.Type))
	}

	var err error
	if data[render.KeyBackendConf], err = doc.Render(); err != nil {
		return nil, fmt.Errorf("render %s: %w", render.KeyBackendConf, err)
	}
	enabled := ini.New()
	enabled.Set(ini.DefaultSection, "enabled_backends", b.Name)
	if data[render.KeyVolumeConf], err = enabled.Render(); err != nil {
		return nil, fmt.Errorf("render %s: %w", render.KeyVolumeConf, err)
	}
	return data, nil
}

func setNFS(doc *ini.Document, b *v1alpha1.CinderBackend) {
	set := func(key, value string) { doc.Set(b.Name, key, value) }
	set("nas_secure_file_operations", "true")
	set("nas_secure_file_permissions", "true")
	set("nfs_mount_options", b.Spec.NFS.EffectiveMountOptions())
	set("nfs_mount_point_base", render.MountDir)
	set("nfs_qcow2_volumes", "false")
	set("nfs_shares_config", render.SharesFile(b.Name))
	set("nfs_snapshot_support", "false")
	set("nfs_sparsed_volumes", "true")
	set("volume_driver", nfsDriver)
}

func setRBD(doc *ini.Document, b *v1alpha1.CinderBackend) {
	set := func(key, value string) { doc.Set(b.Name, key, value) }
	cluster := b.Spec.RBD.EffectiveClusterName()
	set("rbd_ceph_conf", render.CephDir+"/"+render.CephConfName(cluster))
	set("rbd_cluster_name", cluster)
	set("rbd_pool", b.Spec.RBD.Pool)
	if b.Spec.RBD.SecretUUID != "" {
		set("rbd_secret_uuid", b.Spec.RBD.SecretUUID)
	}
	set("rbd_user", b.Spec.RBD.User)
	set("volume_driver", rbdDriver)
}

func setImageCache(doc *ini.Document, b *v1alpha1.CinderBackend) {
	cache := b.Spec.ImageVolumeCache
	if cache == nil || !cache.Enabled {
		return
	}
	doc.Set(b.Name, "image_volume_cache_enabled", "true")
	if cache.MaxCount != nil {
		doc.Set(b.Name, "image_volume_cache_max_count", strconv.Itoa(int(*cache.MaxCount)))
	}
	if cache.MaxSizeGB != nil {
		doc.Set(b.Name, "image_volume_cache_max_size_gb", strconv.Itoa(int(*cache.MaxSizeGB)))
	}
}

func missingBlock(typ string) error {
	switch typ {
	case string(v1alpha1.CinderBackendTypeNFS):
		return fmt.Errorf("spec.nfs is not set")
	case string(v1alpha1.CinderBackendTypeRBD):
		return fmt.Errorf("spec.rbd is not set")
	}
	return fmt.Errorf("spec.type %q is not a known driver", typ)
}
