// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ImageSpec names a container image by repository and exactly one of tag and
// digest.
//
// +kubebuilder:validation:XValidation:rule="has(self.tag) != has(self.digest)",message="exactly one of image.tag or image.digest must be set"
type ImageSpec struct {
	// repository is the image's repository without tag and digest, such as
	// registry.example.org/openstack/cinder.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+([._:/-][a-z0-9]+)*$`
	Repository string `json:"repository"`

	// tag pins the image by tag. A tag that names an OpenStack release must name
	// the one in spec.openStackRelease; a patch suffix such as 2026.1-p1 is
	// allowed. Images pinned by tag are pulled whenever a pod starts.
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`
	Tag string `json:"tag,omitempty"`

	// digest pins the image by content, as sha256:<64 lower-case hexadecimal
	// digits>.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[a-f0-9]{64}$`
	Digest string `json:"digest,omitempty"`
}

// SecretRefSpec names a Secret, and optionally one key of it, in the namespace
// of the resource that refers to it, on the cluster the pods run on.
type SecretRefSpec struct {
	// name is the Secret's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// key is the data key that is read. When it is unset, the field that holds the
	// reference says which key that is.
	// +optional
	Key string `json:"key,omitempty"`
}

// SecretNameRefSpec names a Secret whose data keys are fixed, in the namespace
// of the resource that refers to it, on the cluster the pods run on.
type SecretNameRefSpec struct {
	// name is the Secret's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// ConfigMapRefSpec names a ConfigMap in the namespace of the resource that
// refers to it, on the cluster the pods run on.
type ConfigMapRefSpec struct {
	// name is the ConfigMap's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ClusterRefSpec names a managed service (a MariaDB, a Memcached, a
// RabbitmqCluster) in the namespace of the resource that refers to it, on the
// cluster the pods run on.
type ClusterRefSpec struct {
	// name is the name of the resource that describes the service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// CinderRefSpec names a Cinder in the same namespace.
type CinderRefSpec struct {
	// name is the Cinder's name. The Cinder need not exist yet; until it does,
	// Ready is False.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// TargetClusterRefSpec names a registered target cluster.
type TargetClusterRefSpec struct {
	// name is the name under which the cluster is registered in the operator's
	// clusters namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// SecretStoreKind is the kind of a secret store of the External Secrets
// Operator.
//
// +kubebuilder:validation:Enum=ClusterSecretStore;SecretStore
type SecretStoreKind string

// The kinds of secret stores.
const (
	SecretStoreKindCluster    SecretStoreKind = "ClusterSecretStore"
	SecretStoreKindNamespaced SecretStoreKind = "SecretStore"
)

// SecretStoreRefSpec names the secret store that has to be ready before
// credentials are read.
type SecretStoreRefSpec struct {
	// kind is ClusterSecretStore or SecretStore. An operator that is limited to
	// one namespace refuses a ClusterSecretStore.
	// +optional
	// +kubebuilder:default=ClusterSecretStore
	Kind SecretStoreKind `json:"kind,omitempty"`

	// name is the store's name. A SecretStore is looked up in the namespace of the
	// Cinder.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}
