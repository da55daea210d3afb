// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

// What the controller does on the hub with the resources that it owns and
// reads. The verbs for children come from projection, those for registrations
// from clusters. The finalizers subresource is what an API server that enforces
// owner reference permissions asks for when a child names its owner as blocking.

// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=cinders,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=cinders/status,verbs=patch
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=cinders/finalizers,verbs=update
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=cinderbackends;cinderbackupbackends,verbs=list;watch
// +kubebuilder:rbac:groups=cinder.openstack.c5c3.io,resources=cinderbackends,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
