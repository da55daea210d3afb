// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mchandler "sigs.k8s.io/multicluster-runtime/pkg/handler"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

// request names a Cinder, which always lives on the hub.
func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// mapToParents watches a satellite kind. It takes every event, status flips and
// deletion timestamps included: those are the signals.
func mapToParents[T client.Object](parent func(T) string) mchandler.TypedEventHandlerFunc[client.Object, mcreconcile.Request] {
	return func(multicluster.ClusterName, cluster.Cluster) handler.TypedEventHandler[client.Object, mcreconcile.Request] {
		return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []mcreconcile.Request {
			o, ok := obj.(T)
			if !ok {
				return nil
			}
			return []mcreconcile.Request{{Request: request(o.GetNamespace(), parent(o))}}
		})
	}
}

// cindersOfCluster maps a change of a cluster to every Cinder that names it; the
// hub's own changes go to those that name none.
func (r *Reconciler) cindersOfCluster(ctx context.Context, name string) []reconcile.Request {
	cinders, err := r.cindersOn(ctx, name)
	if err != nil {
		log.FromContext(ctx).Error(err, "list the Cinders of a cluster", "cluster", name)
		return nil
	}
	var reqs []reconcile.Request
	for i := range cinders {
		reqs = append(reqs, request(cinders[i].Namespace, cinders[i].Name))
	}
	return reqs
}

// cindersOn lists the Cinders whose children live on a cluster. Events of a target
// come as fast as that likes: they look at no Cinder of another cluster, and copy
// none. What is returned is the cache's own and must not be changed.
func (r *Reconciler) cindersOn(ctx context.Context, cluster string, opts ...client.ListOption) ([]v1alpha1.Cinder, error) {
	return r.cindersWith(ctx, cluster, client.MatchingFields{}, opts...)
}

// cindersWith is cindersOn for those that are found under fields too.
func (r *Reconciler) cindersWith(ctx context.Context, cluster string, fields client.MatchingFields, opts ...client.ListOption) ([]v1alpha1.Cinder, error) {
	if cluster != "" {
		fields[IndexTargetCluster] = cluster
	}
	opts = append(opts, client.UnsafeDisableDeepCopy)
	if len(fields) > 0 {
		opts = append(opts, fields)
	}
	var list v1alpha1.CinderList
	if err := r.hub.List(ctx, &list, opts...); err != nil {
		return nil, err
	}
	// Those of the hub are in no index.
	return slices.DeleteFunc(list.Items, func(cr v1alpha1.Cinder) bool { return clusterName(&cr) != cluster }), nil
}

// cindersOfObject maps an event of a child, or of an object that Cinders only
// read, on any cluster.
func (r *Reconciler) cindersOfObject(ctx context.Context, ev clusters.Event) []reconcile.Request {
	// The cache of a namespaced operator refuses to be asked about another.
	if r.Namespace != "" && ev.Object.GetNamespace() != r.Namespace {
		return nil
	}
	if partial, ok := ev.Object.(*metav1.PartialObjectMetadata); ok {
		return r.cindersReading(ctx, ev.Cluster, partial.Kind, partial.Namespace, partial.Name)
	}
	if gvk := ev.Object.GetObjectKind().GroupVersionKind(); slices.Contains(References(r.Namespace), gvk) {
		return r.cindersNaming(ctx, ev.Cluster, gvk, ev.Object.GetNamespace(), ev.Object.GetName())
	}
	return append(r.ownerOf(ctx, ev), r.neighbours(ev)...)
}

// ownerOf maps an event of a child to the Cinder that its labels name.
func (r *Reconciler) ownerOf(ctx context.Context, ev clusters.Event) []reconcile.Request {
	kind, namespace, name, ok := projection.Owners(ev)
	if !ok || kind != v1alpha1.KindCinder {
		return nil
	}
	// Labels can be forged or stale: only a Cinder that exists and names the
	// cluster the event came from is woken.
	var cr v1alpha1.Cinder
	if err := r.hub.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &cr); err != nil || clusterName(&cr) != ev.Cluster {
		return nil
	}
	return []reconcile.Request{request(namespace, name)}
}

// cindersNaming finds the Cinders that name an object of another operator: a
// database, a broker, a secret store, an announced Secret. An object without a
// namespace concerns those of all.
func (r *Reconciler) cindersNaming(ctx context.Context, cluster string, gvk schema.GroupVersionKind, namespace, name string) []reconcile.Request {
	cinders, err := r.cindersOn(ctx, cluster, client.InNamespace(namespace))
	if err != nil {
		log.FromContext(ctx).Error(err, "list the Cinders that name an object", "kind", gvk.Kind, "namespace", namespace, "name", name)
		return nil
	}
	var reqs []reconcile.Request
	for i := range cinders {
		cr := &cinders[i]
		if names(cr, gvk, name) {
			reqs = append(reqs, request(cr.Namespace, cr.Name))
		}
	}
	return reqs
}

// cindersReading finds the Cinders that read a Secret or ConfigMap, by their own
// references and by those of their satellites. Several legs yield one request.
func (r *Reconciler) cindersReading(ctx context.Context, cluster, kind, namespace, name string) []reconcile.Request {
	in := client.InNamespace(namespace)
	var parents []string
	var cinders []v1alpha1.Cinder
	var err error
	switch kind {
	case "Secret":
		if cinders, err = r.cindersWith(ctx, cluster, client.MatchingFields{IndexSecretRefs: name}, in); err != nil {
			log.FromContext(ctx).Error(err, "list the Cinders that name a Secret", "namespace", namespace, "name", name)
		}
		parents = append(r.parentsReading(ctx, namespace, name), r.bus.readers(namespace, name)...)
	case "ConfigMap":
		if cinders, err = r.cindersWith(ctx, cluster, client.MatchingFields{IndexConfigMapRefs: name}, in); err != nil {
			log.FromContext(ctx).Error(err, "list the Cinders that name a ConfigMap", "namespace", namespace, "name", name)
		}
	}
	var reqs []reconcile.Request
	seen := map[string]bool{}
	for i := range cinders {
		seen[cinders[i].Name] = true
		reqs = append(reqs, request(namespace, cinders[i].Name))
	}
	for _, parent := range parents {
		var cr v1alpha1.Cinder
		if seen[parent] || r.hub.Get(ctx, types.NamespacedName{Namespace: namespace, Name: parent}, &cr) != nil || clusterName(&cr) != cluster {
			continue
		}
		seen[parent] = true
		reqs = append(reqs, request(namespace, parent))
	}
	return reqs
}

// parentsReading names the parents of the satellites whose key Secret this is.
func (r *Reconciler) parentsReading(ctx context.Context, namespace, secret string) []string {
	in, field := client.InNamespace(namespace), client.MatchingFields{IndexSecretRefs: secret}
	var parents []string
	var backends v1alpha1.CinderBackendList
	if err := r.hub.List(ctx, &backends, in, field); err != nil {
		log.FromContext(ctx).Error(err, "list the CinderBackends that name a Secret", "namespace", namespace, "name", secret)
	}
	for i := range backends.Items {
		parents = append(parents, backends.Items[i].Spec.CinderRef.Name)
	}
	var backups v1alpha1.CinderBackupBackendList
	if err := r.hub.List(ctx, &backups, in, field); err != nil {
		log.FromContext(ctx).Error(err, "list the CinderBackupBackends that name a Secret", "namespace", namespace, "name", secret)
	}
	for i := range backups.Items {
		parents = append(parents, backups.Items[i].Spec.CinderRef.Name)
	}
	return parents
}

// clusterName is the name of the cluster of a Cinder's children; empty for the hub.
func clusterName(cr *v1alpha1.Cinder) string {
	if cr.Spec.TargetClusterRef == nil {
		return ""
	}
	return cr.Spec.TargetClusterRef.Name
}
