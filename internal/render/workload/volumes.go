// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// secretMode lets the pod's group read and nobody else; fsGroup makes the
// process a member of it.
const secretMode int32 = 0o440

// Names of the volumes, by role.
const (
	volumeConfig          = "config"
	volumeSchedulerConfig = "scheduler-config"
	volumeBackendConfig   = "backend-config"
	volumeVolumeConfig    = "volume-config"
	volumeBackupConfig    = "backup-config"
	volumeCeph            = "ceph"
	volumeState           = "state"
	volumeTemp            = "tmp"
	volumeDatabaseTLS     = "db-tls"
	volumeBrokerCA        = "rabbitmq-ca"
)

// mounts collects volumes beside their mounts, so that neither is forgotten.
type mounts struct {
	volumes []corev1.Volume
	mounts  []corev1.VolumeMount
}

func (m *mounts) add(name, path string, readOnly bool, source corev1.VolumeSource) {
	m.volumes = append(m.volumes, corev1.Volume{Name: name, VolumeSource: source})
	m.mounts = append(m.mounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
}

// serviceMounts are what the pods of every process have.
func serviceMounts(c *v1alpha1.Cinder, f render.Facts) *mounts {
	m := &mounts{}
	m.add(volumeConfig, render.ConfigDir, true, configMap(f.ConfigMapName, sharedKeys(f)...))
	m.addCommon(c)
	return m
}

// jobMounts are what the pods of Jobs have: the whole ConfigMap, so that a Job
// needs to know nothing of its keys.
func jobMounts(c *v1alpha1.Cinder, f render.Facts) *mounts {
	m := &mounts{}
	m.add(volumeConfig, render.ConfigDir, true, configMap(f.ConfigMapName))
	m.addCommon(c)
	return m
}

func (m *mounts) addCommon(c *v1alpha1.Cinder) {
	m.add(volumeState, render.StateDir, false, emptyDir())
	m.add(volumeTemp, render.TempDir, false, emptyDir())
	m.addDatabaseTLS(c)
	if tls := c.Spec.Messaging.TLS; tls != nil {
		m.add(volumeBrokerCA, render.BrokerCADir, true, secret(tls.CABundleSecretRef.Name,
			corev1.KeyToPath{Key: tls.CABundleSecretRef.EffectiveKey(v1alpha1.DefaultCABundleKey), Path: "ca.crt"}))
	}
}

func (m *mounts) addDatabaseTLS(c *v1alpha1.Cinder) {
	tls := c.Spec.Database.TLS
	if !tls.Enabled() {
		return
	}
	var sources []corev1.VolumeProjection
	if ca := tls.CABundleSecretRef; ca != nil {
		sources = append(sources, projectedSecret(ca.Name,
			corev1.KeyToPath{Key: ca.EffectiveKey(v1alpha1.DefaultCABundleKey), Path: "ca.crt"}))
	}
	if pair := tls.ClientCertSecretRef; pair != nil {
		sources = append(sources, projectedSecret(pair.Name,
			corev1.KeyToPath{Key: "tls.crt", Path: "tls.crt"},
			corev1.KeyToPath{Key: "tls.key", Path: "tls.key"}))
	}
	if len(sources) > 0 {
		m.add(volumeDatabaseTLS, render.DatabaseTLSDir, true, projected(sources))
	}
}

// sharedKeys are the keys that every process reads, sorted.
func sharedKeys(f render.Facts) []corev1.KeyToPath {
	keys := slices.Clone(f.ConfigKeys)
	if len(keys) == 0 {
		keys = []string{render.KeyCinderConf}
	}
	slices.Sort(keys)
	var items []corev1.KeyToPath
	for _, key := range slices.Compact(keys) {
		if key != render.KeySchedulerConf {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	return items
}

// MountedConfig returns the ConfigMap that a Deployment's pods mount as their
// shared configuration and the keys they mount of it: what to go on with while
// a new configuration cannot be rendered. The name is empty for a Deployment
// that is not one of this package.
func MountedConfig(template corev1.PodTemplateSpec) (name string, keys []string) {
	for _, volume := range template.Spec.Volumes {
		if volume.Name == volumeConfig && volume.ConfigMap != nil {
			for _, item := range volume.ConfigMap.Items {
				keys = append(keys, item.Key)
			}
			return volume.ConfigMap.Name, keys
		}
	}
	return "", nil
}

// MountedBackend returns the Secret of its backend that a volume service's
// pods mount, or an empty name.
func MountedBackend(template corev1.PodTemplateSpec) string {
	return mountedSecret(template, volumeBackendConfig)
}

// MountedBackup returns the Secret of the backup target that the backup
// service's pods mount, or an empty name.
func MountedBackup(template corev1.PodTemplateSpec) string {
	return mountedSecret(template, volumeBackupConfig)
}

func mountedSecret(template corev1.PodTemplateSpec, volume string) string {
	for _, v := range template.Spec.Volumes {
		if v.Name == volume && v.Secret != nil {
			return v.Secret.SecretName
		}
	}
	return ""
}

func configMap(name string, items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
		Items:                items,
	}}
}

func secret(name string, items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: name, Items: items, DefaultMode: ptr.To(secretMode),
	}}
}

func projected(sources []corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: sources, DefaultMode: ptr.To(secretMode),
	}}
}

func projectedSecret(name string, items ...corev1.KeyToPath) corev1.VolumeProjection {
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items,
	}}
}

func emptyDir() corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
}
