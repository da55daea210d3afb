// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

// Registrations are Secrets, which the rules for children cover on the hub. Events are recorded on them. CRDs are watched
// so that the hub is asked again what it serves when they change; where that is forbidden it is asked every minute.
// Clusters of Cluster API register too, where they are served.
//
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=targetclusters,verbs=list;watch;create;update;delete
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=targetclusters/status,verbs=update
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=list;watch
