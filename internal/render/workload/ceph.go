// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// cephFiles collects the sources of /etc/ceph. The API server refuses a
// projected volume with two items on one path, so the first writer keeps it.
type cephFiles struct {
	sources   []corev1.VolumeProjection
	writers   map[string]cephWriter
	conflicts []CephKeyringConflict
}

type cephWriter struct{ source, keyDigest string }

// addKeyring adds the keyring of one source, and its ceph.conf when it is the
// one whose configuration the process connects with.
func (f *cephFiles) addKeyring(source, secretName, keyDigest string, pool v1alpha1.RBDPoolSpec, withConf bool) {
	var items []corev1.KeyToPath
	cluster := pool.EffectiveClusterName()
	if withConf {
		items = append(items, corev1.KeyToPath{Key: render.KeyCephConf, Path: render.CephConfName(cluster)})
	}
	path := render.KeyringName(cluster, pool.User)
	if first, taken := f.writers[path]; !taken {
		if f.writers == nil {
			f.writers = map[string]cephWriter{}
		}
		f.writers[path] = cephWriter{source: source, keyDigest: keyDigest}
		items = append(items, corev1.KeyToPath{Key: render.KeyKeyring, Path: path})
	} else if first.keyDigest != keyDigest {
		f.conflicts = append(f.conflicts, CephKeyringConflict{
			Path: render.CephDir + "/" + path, Kept: first.source, Dropped: source,
		})
	}
	if len(items) > 0 {
		f.sources = append(f.sources, projectedSecret(secretName, items...))
	}
}

func (m *mounts) addCeph(f *cephFiles) {
	if len(f.sources) > 0 {
		m.add(volumeCeph, render.CephDir, true, projected(f.sources))
	}
}

// backupCeph are the files of the backup pod: the target's, and the keyring of
// every RBD backend, because os-brick reads a volume with its backend's user.
func backupCeph(target *render.BackupTarget, backends []render.Backend) *cephFiles {
	files := &cephFiles{}
	if target.RBD != nil {
		files.addKeyring(fmt.Sprintf("backup target %q", target.Name), target.SecretName, target.KeyDigest,
			target.RBD.RBDPoolSpec, true)
	}
	for _, backend := range backends {
		if backend.RBD != nil {
			before := len(files.conflicts)
			files.addKeyring(fmt.Sprintf("backend %q", backend.Name), backend.SecretName, backend.KeyDigest,
				backend.RBD.RBDPoolSpec, false)
			for i := range files.conflicts[before:] {
				files.conflicts[before+i].Backend = backend.Name
			}
		}
	}
	return files
}
