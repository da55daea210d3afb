// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CinderBackupBackendType is a backup driver.
//
// +kubebuilder:validation:Enum=NFS;RBD
type CinderBackupBackendType string

// The backup drivers.
const (
	CinderBackupBackendTypeNFS CinderBackupBackendType = "NFS"
	CinderBackupBackendTypeRBD CinderBackupBackendType = "RBD"
)

// BackupCompression is the algorithm that backup chunks are compressed with.
//
// +kubebuilder:validation:Enum=none;zlib;bz2;zstd
type BackupCompression string

// The compression algorithms.
const (
	BackupCompressionNone BackupCompression = "none"
	BackupCompressionZlib BackupCompression = "zlib"
	BackupCompressionBz2  BackupCompression = "bz2"
	BackupCompressionZstd BackupCompression = "zstd"
)

// CinderBackupBackendSpec is where a Cinder writes volume backups to.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'NFS') == has(self.nfs) && (self.type == 'RBD') == has(self.rbd)",message="exactly the block that matches type must be set: nfs for NFS, rbd for RBD"
type CinderBackupBackendSpec struct {
	// cinderRef names the Cinder in this namespace that writes its backups here.
	// It cannot be changed: the backups already written would be recorded against
	// a deployment that cannot read them.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cinderRef is immutable"
	CinderRef CinderRefSpec `json:"cinderRef"`

	// type is the backup driver: NFS or RBD. It cannot be changed: a restore reads
	// a backup with the driver that wrote it.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type is immutable"
	Type CinderBackupBackendType `json:"type"`

	// nfs is the export the chunks are written to. It goes with type NFS.
	// +optional
	NFS *NFSBackupBackendSpec `json:"nfs,omitempty"`

	// rbd is the Ceph pool the backups are written to. It goes with type RBD.
	// +optional
	RBD *RBDBackupBackendSpec `json:"rbd,omitempty"`

	// fileSize is the size of one backup chunk in bytes, a multiple of 32768. It
	// bounds the memory a backup holds and the work a failed chunk costs. It
	// belongs to the NFS driver; an RBD target ignores it.
	// +optional
	// +kubebuilder:default=52428800
	// +kubebuilder:validation:Minimum=1048576
	// +kubebuilder:validation:MultipleOf=32768
	FileSize *int64 `json:"fileSize,omitempty"`

	// compression is the algorithm each chunk is compressed with; none trades
	// capacity for CPU. It belongs to the NFS driver; an RBD target ignores it.
	// +optional
	// +kubebuilder:default=zlib
	Compression BackupCompression `json:"compression,omitempty"`

	// extraOptions are further options of the backup section by name, in the
	// syntax of oslo.config. Options that the operator renders are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 256 && size(self[k]) <= 1024)",message="extraOptions keys are limited to 256 characters and values to 1024"
	ExtraOptions map[string]string `json:"extraOptions,omitempty"`
}

// NFSBackupBackendSpec is an NFS export that holds backups.
type NFSBackupBackendSpec struct {
	NFSExportSpec `json:",inline"`
}

// RBDBackupBackendSpec is a Ceph pool that holds backups.
type RBDBackupBackendSpec struct {
	RBDPoolSpec `json:",inline"`
}

// CinderBackupBackendStatus is how far a backup target is.
type CinderBackupBackendStatus struct {
	// conditions are CredentialsReady, ConfigProjected and, while both are True,
	// Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status tells of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// CinderBackupBackend is where a Cinder writes volume backups to: an NFS
// export or a Ceph pool. At most one may be attached to a Cinder, and one that
// has none runs no backup service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cinderbackupbackends,singular=cinderbackupbackend,scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Cinder",type=string,JSONPath=`.spec.cinderRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CinderBackupBackend struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the backup target.
	// +required
	Spec CinderBackupBackendSpec `json:"spec"`

	// status is how far the backup target is.
	// +optional
	Status CinderBackupBackendStatus `json:"status,omitempty"`
}

// CinderBackupBackendList is a list of CinderBackupBackends.
//
// +kubebuilder:object:root=true
type CinderBackupBackendList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the CinderBackupBackends.
	Items []CinderBackupBackend `json:"items"`
}
