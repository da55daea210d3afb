// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// nfsCSIDriver mounts exports for the pods: no process mounts anything itself.
const nfsCSIDriver = "nfs.csi.k8s.io"

// SharedExport says that two backends name one export with different mount
// options: it is mounted once, with those of the first by name.
type SharedExport struct {
	// Export is `server:path`.
	Export string
	// Kept and Ignored are the names of the backends.
	Kept, Ignored string
}

// CephKeyringConflict says that two sources name one keyring file with
// different keys: the first one's is kept, and volumes of the other cannot be
// backed up once Ceph refuses that key.
type CephKeyringConflict struct {
	// Path is the file in the pod.
	Path string
	// Kept and Dropped name the sources: `backup target "x"`, `backend "y"`.
	Kept, Dropped string
	// Backend is the name of the volume backend whose keyring is left out.
	Backend string
}

// Notes are what a user should be told about a rendered backup Deployment.
// Both lists are in backend order.
type Notes struct {
	SharedExports    []SharedExport
	KeyringConflicts []CephKeyringConflict
}

func csiNFS(export v1alpha1.NFSExportSpec) corev1.VolumeSource {
	return corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver:   nfsCSIDriver,
		ReadOnly: ptr.To(false),
		VolumeAttributes: map[string]string{
			"server":       export.Server,
			"share":        export.Path,
			"mountOptions": export.EffectiveMountOptions(),
		},
	}}
}

// addExport mounts an export where Cinder looks for it.
func (m *mounts) addExport(export v1alpha1.NFSExportSpec) {
	hash := render.ExportHash(export.Export())
	m.add("export-"+hash, render.MountDir+"/"+hash, false, csiNFS(export))
}

// addExports mounts the export of every NFS backend, each once.
func (m *mounts) addExports(backends []render.Backend) []SharedExport {
	var shared []SharedExport
	first := map[string]render.Backend{}
	for _, backend := range backends {
		if backend.NFS == nil {
			continue
		}
		export := backend.NFS.Export()
		kept, seen := first[export]
		switch {
		case !seen:
			first[export] = backend
			m.addExport(backend.NFS.NFSExportSpec)
		case kept.NFS.EffectiveMountOptions() != backend.NFS.EffectiveMountOptions():
			shared = append(shared, SharedExport{Export: export, Kept: kept.Name, Ignored: backend.Name})
		}
	}
	return shared
}

// addBackupExport mounts the target's export. It has a volume of its own even
// where a backend names the same export: it is mounted elsewhere, and with its
// own options.
func (m *mounts) addBackupExport(export v1alpha1.NFSExportSpec) {
	hash := render.ExportHash(export.Export())
	m.add("backup-export-"+hash, render.BackupMounts+"/"+hash, false, csiNFS(export))
}
