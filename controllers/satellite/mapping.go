// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

// The indexes of the hub's cache that satellites and their parents are found
// by.
const (
	indexCinderRef        = "spec.cinderRef.name"
	indexTargetClusterRef = "spec.targetClusterRef.name"
	indexSecretRefs       = "spec.secretRefs.name"
)

// ofParent lists the satellites of a Cinder.
func (r *reconciler) ofParent(ctx context.Context, namespace, cinder string) []satellite {
	return r.find(ctx, client.InNamespace(namespace), client.MatchingFields{indexCinderRef: cinder})
}

func (r *reconciler) find(ctx context.Context, opts ...client.ListOption) []satellite {
	list := r.kind.list()
	if err := r.Client.List(ctx, list, opts...); err != nil {
		// The hub's cache answers; it fails only while the process stops.
		log.FromContext(ctx).Error(err, "list satellites", "kind", r.kind.name)
		return nil
	}
	return r.kind.items(list)
}

// ofCluster maps a change of a cluster to the satellites of every Cinder whose
// children live there; the hub's own changes to those of the Cinders that name
// no cluster.
func (r *reconciler) ofCluster(ctx context.Context, cluster string) []reconcile.Request {
	cinders := &v1alpha1.CinderList{}
	var opts []client.ListOption
	if cluster != "" {
		opts = append(opts, client.MatchingFields{indexTargetClusterRef: cluster})
	}
	if err := r.Client.List(ctx, cinders, opts...); err != nil {
		log.FromContext(ctx).Error(err, "list the Cinders of a cluster", "cluster", cluster)
		return nil
	}
	var out []reconcile.Request
	for i := range cinders.Items {
		if c := &cinders.Items[i]; clusterOf(c) == cluster {
			out = append(out, requests(r.ofParent(ctx, c.Namespace, c.Name))...)
		}
	}
	return out
}

// clusterOf is the name of the cluster of a Cinder's children; empty for the
// hub.
func clusterOf(c *v1alpha1.Cinder) string {
	if ref := c.Spec.TargetClusterRef; ref != nil {
		return ref.Name
	}
	return ""
}

// ofEvent maps a change on any cluster to the satellites it says something
// about: of a Deployment the ones whose projection it takes, of a Secret the
// ones whose key it holds.
func (r *reconciler) ofEvent(ctx context.Context, ev clusters.Event) []reconcile.Request {
	// The cache of a namespaced operator refuses to be asked about another.
	if r.Namespace != "" && ev.Object.GetNamespace() != r.Namespace {
		return nil
	}
	switch o := ev.Object.(type) {
	case *appsv1.Deployment:
		return r.ofDeployment(ctx, ev, o)
	case *metav1.PartialObjectMetadata:
		if o.Kind == "Secret" && o.GroupVersionKind().Group == "" {
			return r.ofSecret(ctx, ev.Cluster, o)
		}
	}
	return nil
}

func (r *reconciler) ofDeployment(ctx context.Context, ev clusters.Event, d *appsv1.Deployment) []reconcile.Request {
	owner, namespace, name, ok := projection.Owners(ev)
	if !ok || owner != v1alpha1.KindCinder || !r.lives(ctx, namespace, name, ev.Cluster) {
		return nil
	}
	var touched []satellite
	for _, s := range r.ofParent(ctx, namespace, name) {
		if r.kind.deployment(name, s.GetName()) == d.Name {
			touched = append(touched, s)
		}
	}
	return requests(touched)
}

func (r *reconciler) ofSecret(ctx context.Context, cluster string, secret client.Object) []reconcile.Request {
	var touched []satellite
	for _, s := range r.find(ctx, client.InNamespace(secret.GetNamespace()), client.MatchingFields{indexSecretRefs: secret.GetName()}) {
		if r.lives(ctx, s.GetNamespace(), s.cinder, cluster) {
			touched = append(touched, s)
		}
	}
	return requests(touched)
}

// lives tells whether the Cinder exists and names the cluster: an event of any
// other cluster says nothing about it, whatever the labels claim.
func (r *reconciler) lives(ctx context.Context, namespace, name, cluster string) bool {
	parent := &v1alpha1.Cinder{}
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, parent); err != nil {
		return false
	}
	return clusterOf(parent) == cluster
}

func requests(found []satellite) []reconcile.Request {
	out := make([]reconcile.Request, 0, len(found))
	for _, s := range found {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
	}
	return out
}
