// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of the operator: the kinds Cinder, CinderBackend, CinderBackupBackend and TargetCluster of
// group cinder.openstack.c5c3.io, the types they share, the condition types and reasons they report, and the values
// that fields left unset stand for.
//
// The CustomResourceDefinitions are generated from the markers in this package; the comments on fields are what
// kubectl explain prints. The package imports Kubernetes' API types and nothing of this project.
//
// +kubebuilder:object:generate=true
// +groupName=cinder.openstack.c5c3.io
package v1alpha1
