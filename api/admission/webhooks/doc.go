// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhooks lets an API server ask package admission: it gathers the facts that a rule needs, with uncached reads, and
// answers every violation in one Invalid status. It serves creates and updates, never deletes.
//
// The webhook configurations are generated from the markers of this package. Their match conditions leave out the
// operator's own account, which must never wait for itself, and objects that are being deleted: the API server does not
// even ask about them, so that a deletion ends while nobody serves the webhooks.
//
// +kubebuilder:webhookconfiguration:mutating=true,name=cinder-operator
// +kubebuilder:webhookconfiguration:mutating=false,name=cinder-operator
package webhooks
