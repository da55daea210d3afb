// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The labels that name the owner of a child. They stand on every child, on the
// hub and on targets, and never in a selector of a workload.
const (
	// LabelOwnerKind is the kind of the owning custom resource.
	LabelOwnerKind = "openstack.c5c3.io/owner-kind"
	// LabelOwnerName is the name of the owning custom resource.
	LabelOwnerName = "openstack.c5c3.io/owner-name"
	// LabelOwnerNamespace is the owner's namespace, and the child's.
	LabelOwnerNamespace = "openstack.c5c3.io/owner-namespace"
	// LabelOwnerHub is the identity of the hub that holds the owner.
	LabelOwnerHub = "openstack.c5c3.io/owner-hub"
)

const (
	// LabelRevisionBase groups the revisions of one immutable object. Its value
	// is the base name, or a digest of a base name that is no label value.
	LabelRevisionBase = "openstack.c5c3.io/revision-base"
	// AnnotationRevisionBase is the base name in full.
	AnnotationRevisionBase = "openstack.c5c3.io/revision-base"
)

// maxLabelValue is the length of a label value, and so of an owner's name.
const maxLabelValue = validation.LabelValueMaxLength

// fieldManagerPrefix starts the field manager of every hub's operator.
const fieldManagerPrefix = "cinder-operator."

// FieldManager is the server-side-apply field manager of the operator of a hub.
func FieldManager(hubUID string) string { return fieldManagerPrefix + hubUID }

// Selector selects the children that belong to the owners of one hub, for the
// caches of children. What it hides (foreign objects, children without their
// hub label) is judged by a live read.
func Selector(hubUID string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{LabelOwnerHub: hubUID})
}

// ownerLabels are the four labels in the order in which they are compared.
var ownerLabels = [...]string{LabelOwnerKind, LabelOwnerName, LabelOwnerNamespace, LabelOwnerHub}
