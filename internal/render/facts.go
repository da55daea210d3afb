// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Facts is what the pods of a Cinder depend on beyond its spec. It is found by
// the steps that ran before; a renderer only reads it.
type Facts struct {
	// ConfigMapName is the immutable ConfigMap with the shared configuration.
	ConfigMapName string
	// ConfigKeys are the keys of that ConfigMap, in any order; scheduler.conf
	// may be among them. Empty stands for cinder.conf alone.
	ConfigKeys []string

	// DBConnectionHash, AuthtokenHash and TransportURLHash are digests of the
	// credentials' sources. AuthtokenHash is empty without Keystone.
	DBConnectionHash string
	AuthtokenHash    string
	TransportURLHash string

	// BrokerPort is the port that the bus processes probe. Zero stands for 5672.
	BrokerPort int32
	// BrokerPorts are all ports the bus is reached at. Empty stands for
	// BrokerPort alone.
	BrokerPorts []int32
	// InstalledRelease is status.installedRelease; empty before the first
	// schema migration.
	InstalledRelease string

	// Backends are the projected volume backends, in any order.
	Backends []Backend
	// Backup is the projected backup target, or nil.
	Backup *BackupTarget

	// PullPolicy overrides how images are pulled. Empty stands for Always with
	// a tag and IfNotPresent with a digest.
	PullPolicy corev1.PullPolicy
	// LiveReplicas is the replica count of the live API Deployment, or nil
	// without one. It counts while a HorizontalPodAutoscaler owns the number.
	LiveReplicas *int32
}

// Backend is one projected volume backend.
type Backend struct {
	// Name is the CinderBackend's name.
	Name string
	// SecretName is the immutable Secret it was rendered into.
	SecretName string
	// NFS or RBD is set, by the backend's type.
	NFS *v1alpha1.NFSBackendSpec
	RBD *v1alpha1.RBDBackendSpec
	// KeyDigest is Digest of the cephx key of an RBD backend. It tells two
	// users of one name apart, and is never written anywhere.
	KeyDigest string
}

// BackupTarget is the projected backup target.
type BackupTarget struct {
	// Name is the CinderBackupBackend's name.
	Name string
	// SecretName is the immutable Secret it was rendered into.
	SecretName string
	// NFS or RBD is set, by the target's type.
	NFS *v1alpha1.NFSBackupBackendSpec
	RBD *v1alpha1.RBDBackupBackendSpec
	// KeyDigest is Digest of the cephx key of an RBD target.
	KeyDigest string
}

// NewBackend describes a backend that was rendered into a Secret. key is the
// cephx key of an RBD backend, else empty.
func NewBackend(b *v1alpha1.CinderBackend, secretName, key string) Backend {
	return Backend{Name: b.Name, SecretName: secretName, NFS: b.Spec.NFS, RBD: b.Spec.RBD, KeyDigest: digestOfKey(key)}
}

// NewBackupTarget describes a backup target that was rendered into a Secret.
// key is the cephx key of an RBD target, else empty.
func NewBackupTarget(b *v1alpha1.CinderBackupBackend, secretName, key string) *BackupTarget {
	return &BackupTarget{Name: b.Name, SecretName: secretName, NFS: b.Spec.NFS, RBD: b.Spec.RBD, KeyDigest: digestOfKey(key)}
}

func digestOfKey(key string) string {
	if key == "" {
		return ""
	}
	return Digest(key)
}

// SortedBackends returns the projected backends in name order.
func (f Facts) SortedBackends() []Backend {
	sorted := slices.Clone(f.Backends)
	slices.SortFunc(sorted, func(a, b Backend) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}

// EffectiveBrokerPort is the port that the bus processes probe.
func (f Facts) EffectiveBrokerPort() int32 {
	if f.BrokerPort == 0 {
		return DefaultBrokerPort
	}
	return f.BrokerPort
}

// EffectiveBrokerPorts are all ports of the bus, sorted and unique.
func (f Facts) EffectiveBrokerPorts() []int32 {
	ports := append([]int32{f.EffectiveBrokerPort()}, f.BrokerPorts...)
	slices.Sort(ports)
	return slices.Compact(ports)
}

// DefaultBrokerPort is AMQP's port.
const DefaultBrokerPort int32 = 5672

// Digest is the hex SHA-256 of the parts, each with its length in front, so
// that no two lists of parts meet. It is what the rollout annotations carry.
func Digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var length [8]byte
		for i, n := 0, uint64(len(part)); i < len(length); i, n = i+1, n>>8 {
			length[i] = byte(n)
		}
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}
