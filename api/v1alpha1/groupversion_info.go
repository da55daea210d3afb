// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind in this package.
const GroupName = "cinder.openstack.c5c3.io"

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that register the kinds with a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package, and the option types of their group version, with a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// The kinds, as they are written in manifests and in owner labels.
const (
	KindCinder              = "Cinder"
	KindCinderBackend       = "CinderBackend"
	KindCinderBackupBackend = "CinderBackupBackend"
	KindTargetCluster       = "TargetCluster"
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Cinder{}, &CinderList{},
		&CinderBackend{}, &CinderBackendList{},
		&CinderBackupBackend{}, &CinderBackupBackendList{},
		&TargetCluster{}, &TargetClusterList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
