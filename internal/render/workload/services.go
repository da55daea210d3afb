// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// Names of the containers.
const (
	ContainerAPI       = "cinder-api"
	ContainerScheduler = "cinder-scheduler"
	ContainerVolume    = "cinder-volume"
	ContainerBackup    = "cinder-backup"
)

func process(binary string, dirs ...string) []string {
	command := []string{binary}
	for _, dir := range append([]string{render.ConfigDir}, dirs...) {
		command = append(command, "--config-dir", dir)
	}
	return command
}

// Scheduler renders the scheduler Deployment. It has no Service: it takes its
// work off the bus.
func Scheduler(c *v1alpha1.Cinder, f render.Facts) *appsv1.Deployment {
	m := serviceMounts(c, f)
	m.add(volumeSchedulerConfig, render.SchedulerDir, true, configMap(f.ConfigMapName,
		corev1.KeyToPath{Key: render.KeySchedulerConf, Path: render.KeySchedulerConf}))
	return deployment(c, f, service{
		name:      render.SchedulerName(c.Name),
		component: v1alpha1.ComponentScheduler,
		label:     render.ComponentScheduler,
		replicas:  c.Spec.EffectiveReplicas(v1alpha1.ComponentScheduler),
		bus:       true,
		volumes:   m.volumes,
		container: corev1.Container{
			Name:           ContainerScheduler,
			Command:        process("cinder-scheduler", render.SchedulerDir),
			Env:            busEnv(c, f),
			ReadinessProbe: busReady(),
			VolumeMounts:   m.mounts,
		},
	})
}

// Volume renders the Deployment of the volume service of one backend.
func Volume(c *v1alpha1.Cinder, f render.Facts, backend render.Backend) *appsv1.Deployment {
	m := serviceMounts(c, f)
	items := []corev1.KeyToPath{{Key: render.KeyBackendConf, Path: render.KeyBackendConf}}
	if backend.NFS != nil {
		items = append(items, corev1.KeyToPath{Key: render.KeyShares, Path: backend.Name + ".shares"})
	}
	m.add(volumeBackendConfig, render.BackendsDir, true, secret(backend.SecretName, items...))
	m.add(volumeVolumeConfig, render.VolumeDir, true, secret(backend.SecretName,
		corev1.KeyToPath{Key: render.KeyVolumeConf, Path: render.KeyVolumeConf}))
	switch {
	case backend.NFS != nil:
		m.addExport(backend.NFS.NFSExportSpec)
	case backend.RBD != nil:
		files := &cephFiles{}
		files.addKeyring(backend.Name, backend.SecretName, backend.KeyDigest, backend.RBD.RBDPoolSpec, true)
		m.addCeph(files)
	}
	return deployment(c, f, service{
		name:      render.VolumeName(c.Name, backend.Name),
		component: v1alpha1.ComponentVolume,
		label:     render.VolumeComponent(backend.Name),
		onlyOne:   true,
		bus:       true,
		volumes:   m.volumes,
		container: corev1.Container{
			Name:           ContainerVolume,
			Command:        process("cinder-volume", render.BackendsDir, render.VolumeDir),
			Env:            busEnv(c, f),
			ReadinessProbe: busReady(),
			VolumeMounts:   m.mounts,
		},
	})
}

// Backup renders the backup Deployment for f.Backup, which must not be nil.
// Its pod mounts the export of every NFS backend and the keyring of every RBD
// backend as well: a backup reads the volume itself.
func Backup(c *v1alpha1.Cinder, f render.Facts) (*appsv1.Deployment, Notes) {
	backends := f.SortedBackends()
	m := serviceMounts(c, f)
	m.add(volumeBackupConfig, render.BackupDir, true, secret(f.Backup.SecretName,
		corev1.KeyToPath{Key: render.KeyBackupConf, Path: render.KeyBackupConf}))
	var notes Notes
	notes.SharedExports = m.addExports(backends)
	if f.Backup.NFS != nil {
		m.addBackupExport(f.Backup.NFS.NFSExportSpec)
	}
	files := backupCeph(f.Backup, backends)
	notes.KeyringConflicts = files.conflicts
	m.addCeph(files)

	d := deployment(c, f, service{
		name:      render.BackupName(c.Name),
		component: v1alpha1.ComponentBackup,
		label:     render.ComponentBackup,
		onlyOne:   true,
		bus:       true,
		volumes:   m.volumes,
		container: corev1.Container{
			Name:    ContainerBackup,
			Command: process("cinder-backup", render.BackupDir),
			// One arena more for each thread would keep the buffers of chunks
			// that were written long ago.
			Env:            append(busEnv(c, f), corev1.EnvVar{Name: "MALLOC_ARENA_MAX", Value: "2"}),
			ReadinessProbe: busReady(),
			VolumeMounts:   m.mounts,
		},
	})
	return d, notes
}
