// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Finalizers the operator puts on its resources.
const (
	// FinalizerCinder holds a Cinder until what it made in a managed database is deleted.
	FinalizerCinder = "cinder.openstack.c5c3.io/finalizer"

	// FinalizerRemoteChildren holds a Cinder until its children on a target cluster are deleted: no garbage collector
	// reaches across clusters.
	FinalizerRemoteChildren = "openstack.c5c3.io/remote-children"

	// FinalizerServiceRemove holds a CinderBackend until its row is removed from Cinder's service registry.
	FinalizerServiceRemove = "cinder.openstack.c5c3.io/service-remove"
)

// Annotations with which a user tells the operator something about one Cinder.
const (
	// AnnotationAbandonChildren, with the value "true" on a Cinder that is being deleted, gives up its children on a
	// target cluster that cannot be reached.
	AnnotationAbandonChildren = "cinder.openstack.c5c3.io/abandon-children"

	// AnnotationAcceptCluster names, by the UID of its kube-system namespace, a cluster that has taken the name of the
	// one a Cinder was created on, and lets the Cinder be created anew there.
	AnnotationAcceptCluster = "cinder.openstack.c5c3.io/accept-cluster"
)

// How target clusters are registered.
const (
	// LabelKubeconfig, with the value "true", makes a Secret in the clusters namespace a registration.
	LabelKubeconfig = "sigs.k8s.io/multicluster-runtime-kubeconfig"

	// LabelTarget, with the value "true", makes a Cluster of Cluster API in the clusters namespace a registration.
	LabelTarget = "cinder.openstack.c5c3.io/target"

	// AnnotationNamespaces carries, on a Cluster of Cluster API, what the key namespaces carries in a Secret.
	AnnotationNamespaces = "cinder.openstack.c5c3.io/namespaces"

	// AnnotationAllowedNamespaces carries, on a Cluster of Cluster API, what the key allowedNamespaces carries in a
	// Secret.
	AnnotationAllowedNamespaces = "cinder.openstack.c5c3.io/allowed-namespaces"

	// AnnotationAPIServerCIDRs carries, on a Cluster of Cluster API, what the key apiServerCIDRs carries in a Secret.
	AnnotationAPIServerCIDRs = "cinder.openstack.c5c3.io/api-server-cidrs"

	// RegistrationKeyKubeconfig is the key of a registration Secret that holds the kubeconfig.
	RegistrationKeyKubeconfig = "kubeconfig"

	// RegistrationKeyNamespaces is the key of a registration Secret that holds the namespaces on the target that the
	// operator is limited to, separated by commas.
	RegistrationKeyNamespaces = "namespaces"

	// RegistrationKeyAllowedNamespaces is the key of a registration Secret that holds the hub's namespaces whose
	// Cinders may use the cluster, separated by commas; "*" is all.
	RegistrationKeyAllowedNamespaces = "allowedNamespaces"

	// RegistrationKeyAPIServerCIDRs is the key of a registration Secret that holds the networks the target's API
	// servers reach pods from, separated by commas.
	RegistrationKeyAPIServerCIDRs = "apiServerCIDRs"
)
