// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CinderBackendType is a volume driver.
//
// +kubebuilder:validation:Enum=NFS;RBD
type CinderBackendType string

// The volume drivers.
const (
	CinderBackendTypeNFS CinderBackendType = "NFS"
	CinderBackendTypeRBD CinderBackendType = "RBD"
)

// CinderBackendSpec is one storage that a Cinder serves volumes from.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'NFS') == has(self.nfs) && (self.type == 'RBD') == has(self.rbd)",message="exactly the block that matches type must be set: nfs for NFS, rbd for RBD"
type CinderBackendSpec struct {
	// cinderRef names the Cinder in this namespace that serves the backend. It
	// cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cinderRef is immutable"
	CinderRef CinderRefSpec `json:"cinderRef"`

	// type is the driver: NFS or RBD. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type is immutable"
	Type CinderBackendType `json:"type"`

	// nfs is the export the volumes are in. It goes with type NFS.
	// +optional
	NFS *NFSBackendSpec `json:"nfs,omitempty"`

	// rbd is the Ceph pool the volumes are in. It goes with type RBD.
	// +optional
	RBD *RBDBackendSpec `json:"rbd,omitempty"`

	// imageVolumeCache keeps volumes made from images, to clone the next one from.
	// It needs spec.internalTenant on the Cinder.
	// +optional
	ImageVolumeCache *ImageVolumeCacheSpec `json:"imageVolumeCache,omitempty"`

	// extraOptions are further options of the backend's section by name, in the
	// syntax of oslo.config. Options that the operator renders are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 256 && size(self[k]) <= 1024)",message="extraOptions keys are limited to 256 characters and values to 1024"
	ExtraOptions map[string]string `json:"extraOptions,omitempty"`
}

// NFSBackendSpec is an NFS export that holds volumes.
type NFSBackendSpec struct {
	NFSExportSpec `json:",inline"`
}

// RBDBackendSpec is a Ceph pool that holds volumes.
type RBDBackendSpec struct {
	RBDPoolSpec `json:",inline"`

	// secretUUID is the UUID of the libvirt secret under which hypervisors look
	// the user's key up, in lower case. Unset leaves the option out.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	SecretUUID string `json:"secretUUID,omitempty"`
}

// ImageVolumeCacheSpec bounds the image cache of a backend.
type ImageVolumeCacheSpec struct {
	// enabled turns the cache on.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// maxSizeGB is the largest size of the cache in GB. Unset bounds nothing.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxSizeGB *int32 `json:"maxSizeGB,omitempty"`

	// maxCount is the largest number of volumes in the cache. Unset bounds
	// nothing.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxCount *int32 `json:"maxCount,omitempty"`
}

// CinderBackendStatus is how far a backend is.
type CinderBackendStatus struct {
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

// CinderBackend is one storage that a Cinder serves volumes from. Each is
// served by a volume service of its own, on the cluster its Cinder names.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cinderbackends,singular=cinderbackend,scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Cinder",type=string,JSONPath=`.spec.cinderRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CinderBackend struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata. The name is a DNS label and
	// becomes the backend's name in Cinder.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the storage.
	// +required
	Spec CinderBackendSpec `json:"spec"`

	// status is how far the backend is.
	// +optional
	Status CinderBackendStatus `json:"status,omitempty"`
}

// CinderBackendList is a list of CinderBackends.
//
// +kubebuilder:object:root=true
type CinderBackendList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the CinderBackends.
	Items []CinderBackend `json:"items"`
}
