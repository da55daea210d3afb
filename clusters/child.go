// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import "sigs.k8s.io/controller-runtime/pkg/client"

// ChildKind is one kind of object that is written on target clusters and
// watched there.
type ChildKind struct {
	// Object is an empty typed object, or an *unstructured.Unstructured with its
	// group, version and kind set. Its type decides which informer serves it.
	Object client.Object
	// Optional kinds are left out where the cluster does not serve them.
	Optional bool
	// KeepResourceVersionKey marks the kinds without a metadata.generation: a
	// change of content is seen by the resourceVersion alone.
	KeepResourceVersionKey bool
}

// Event is a change of an object seen on one cluster.
type Event struct {
	// Cluster is the registered name; empty for the hub.
	Cluster string
	// Object is a child, typed or unstructured, or the
	// *metav1.PartialObjectMetadata of an input Secret or ConfigMap with its
	// group, version and kind set. After a deletion it is the last known state.
	Object client.Object
	// Old is the state before an update, else nil.
	Old client.Object
	// Deleted tells that the object left the watch: it was deleted, or its labels
	// no longer match the selector.
	Deleted bool
}
