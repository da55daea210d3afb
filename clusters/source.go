// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// registrationSource finds registrations of one kind.
type registrationSource interface {
	// kind is what TargetClusters show as their source.
	kind() v1alpha1.TargetClusterSource
	// run tells sink of every registration until ctx ends. It returns an error only if it gave up; it is then run again.
	run(ctx context.Context, sink sink) error
}

// sink takes what a source finds. Its methods may be called side by side, for one name by one goroutine at a time, and do
// not block.
type sink interface {
	// offer tells of a registration that exists, or changed.
	offer(from v1alpha1.TargetClusterSource, o offer)
	// withdraw tells that there is no such registration any more.
	withdraw(from v1alpha1.TargetClusterSource, name string)
	// complete tells that every registration that existed at the start has been offered.
	complete(from v1alpha1.TargetClusterSource)
}

// offer is a registration as a source found it.
type offer struct {
	name string
	data registrationData
	// ref names the object that registers the cluster: the owner of its TargetCluster, and what events are about.
	ref corev1.ObjectReference
}

// admitted is a registration after the decision over it.
type admitted struct {
	source  v1alpha1.TargetClusterSource
	ref     corev1.ObjectReference
	reg     *Registration // nil if refused
	refused *Refusal
	// conflict names the registration of the same name that was passed over, if there is one.
	conflict string
}

// registration names the object to correct.
func (a *admitted) registration() string {
	return fmt.Sprintf("%s %s/%s", a.ref.Kind, a.ref.Namespace, a.ref.Name)
}

func (a *admitted) same(o *admitted) bool {
	if a.source != o.source || a.ref.UID != o.ref.UID || a.conflict != o.conflict || (a.refused == nil) != (o.refused == nil) {
		return false
	}
	if a.refused != nil {
		return *a.refused == *o.refused
	}
	return a.reg.Token == o.reg.Token && a.reg.sameConnection(o.reg) && a.reg.sameAdmittance(o.reg)
}
