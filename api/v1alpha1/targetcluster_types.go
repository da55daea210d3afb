// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TargetClusterSource is what a cluster is registered by.
//
// +kubebuilder:validation:Enum=Secret;ClusterAPI
type TargetClusterSource string

// The sources of registrations.
const (
	TargetClusterSourceSecret     TargetClusterSource = "Secret"
	TargetClusterSourceClusterAPI TargetClusterSource = "ClusterAPI"
)

// TargetClusterStatus is what the operator knows of a registered cluster. It
// is written when something changes, not on every probe.
type TargetClusterStatus struct {
	// source is what the cluster is registered by: a kubeconfig Secret, or a
	// Cluster of Cluster API.
	// +optional
	Source TargetClusterSource `json:"source,omitempty"`

	// server is the API server's scheme, host and port.
	// +optional
	Server string `json:"server,omitempty"`

	// kubernetesVersion is the version of the API server.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// namespaces are the namespaces on the cluster that the operator is limited
	// to. Empty means all.
	// +optional
	// +listType=set
	Namespaces []string `json:"namespaces,omitempty"`

	// allowedNamespaces are the namespaces here whose Cinders may use the cluster;
	// "*" means all. Empty means that the registration does not say: all may, or
	// none when the operator runs with --require-allowed-namespaces.
	// +optional
	// +listType=set
	AllowedNamespaces []string `json:"allowedNamespaces,omitempty"`

	// cinders is how many Cinders name the cluster.
	// +optional
	Cinders int32 `json:"cinders"`

	// capabilities say which optional APIs the cluster serves. Unset means that it
	// was not asked yet.
	// +optional
	Capabilities *TargetClusterCapabilities `json:"capabilities,omitempty"`

	// missingPermissions are the permissions the operator needs and the registered
	// account lacks.
	// +optional
	// +listType=atomic
	MissingPermissions []MissingPermission `json:"missingPermissions,omitempty"`

	// conditions are Accepted (the registration is usable), Connected (the cluster
	// answers), Permitted (the account may do what the operator needs) and Ready,
	// which is True while Accepted and Connected are.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TargetClusterCapabilities are the optional APIs a cluster serves.
type TargetClusterCapabilities struct {
	// gatewayAPI is true when HTTPRoutes of the Gateway API are served.
	// +optional
	GatewayAPI bool `json:"gatewayAPI"`

	// verticalPodAutoscaler is true when VerticalPodAutoscalers are served.
	// +optional
	VerticalPodAutoscaler bool `json:"verticalPodAutoscaler"`

	// mariadb is true when the resources of mariadb-operator are served.
	// +optional
	MariaDB bool `json:"mariadb"`

	// rabbitmq is true when RabbitmqClusters are served.
	// +optional
	RabbitMQ bool `json:"rabbitmq"`

	// externalSecrets is true when the resources of the External Secrets Operator
	// are served.
	// +optional
	ExternalSecrets bool `json:"externalSecrets"`
}

// MissingPermission is one permission that an account lacks.
type MissingPermission struct {
	// verb is the verb, such as patch.
	// +required
	Verb string `json:"verb"`

	// group is the API group. Empty is the core group.
	// +optional
	Group string `json:"group,omitempty"`

	// resource is the resource in the plural, with its subresource after a slash
	// where there is one.
	// +required
	Resource string `json:"resource"`

	// namespace is the namespace the permission is missing in. Empty means all
	// namespaces, or a resource without one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// TargetCluster shows a cluster that is registered for Cinders to be created
// on. It is a mirror: the operator writes one beside each registration and
// writes it again when it is deleted; creating one by hand registers nothing.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=targetclusters,singular=targetcluster,scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.source`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Cinders",type=integer,JSONPath=`.status.cinders`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TargetCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata. The name is the one the cluster is
	// registered under.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is what the operator knows of the cluster.
	// +optional
	Status TargetClusterStatus `json:"status,omitempty"`
}

// TargetClusterList is a list of TargetClusters.
//
// +kubebuilder:object:root=true
type TargetClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the TargetClusters.
	Items []TargetCluster `json:"items"`
}
