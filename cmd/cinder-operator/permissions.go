// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/cinder"
	"c5c3.io/cinder-operator/projection"
)

// childVerbs are what the operator does with every kind of child: it reads them
// from a watch and live, applies them (patch, and create for what does not exist
// yet) and deletes them.
var childVerbs = []string{"create", "delete", "get", "list", "patch", "watch"}

// referenceVerbs are what it does with the kinds that a Cinder names: it follows
// them by a watch, and reads them live where there is none.
var referenceVerbs = []string{"get", "list", "watch"}

// permissions lists what the operator does on a cluster of children, and so what
// the account of a registration has to be granted there. Beside children and
// references, each line stands with the code that does it. With a namespace it
// is what an operator of that namespace alone does.
func permissions(scheme *runtime.Scheme, namespace string) ([]clusters.Permission, error) {
	all := []clusters.Permission{
		// projection: what a ReplicaSet with pods names is not pruned
		{Verb: "list", Group: "apps", Resource: "replicasets"},
		// controllers/cinder: the exit code of the upgrade check
		{Verb: "list", Resource: "pods"},
		// controllers/cinder: the health probe of a remote API
		{Verb: "get", Resource: "services/proxy"},
		// clusters: the identity of the cluster
		{Verb: "get", Resource: "namespaces", Name: "kube-system"},
		// clusters: the API servers' addresses, for network policies
		{Verb: "get", Group: "discovery.k8s.io", Resource: "endpointslices", Name: "kubernetes", Namespace: "default"},
	}
	for _, kind := range projection.Kinds() {
		gvk, err := apiutil.GVKForObject(kind.Object, scheme)
		if err != nil {
			return nil, fmt.Errorf("kind of child %T: %w", kind.Object, err)
		}
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		for _, verb := range childVerbs {
			all = append(all, clusters.Permission{Verb: verb, Group: resource.Group, Resource: resource.Resource})
		}
	}
	for _, gvk := range cinder.References(namespace) {
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		for _, verb := range referenceVerbs {
			all = append(all, clusters.Permission{Verb: verb, Group: resource.Group, Resource: resource.Resource})
		}
	}
	return all, nil
}
