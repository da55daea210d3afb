// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/controllers/cinder"
)

// owners tells the registry of clusters, which knows no Cinder, how many name a
// cluster and where they live, out of the hub's cache.
type owners struct{ cache cache.Cache }

// on lists the Cinders whose children live on the cluster; the name is empty for
// the hub. They are the cache's own and are not changed.
func (o *owners) on(ctx context.Context, cluster string) ([]*v1alpha1.Cinder, error) {
	opts := []client.ListOption{client.UnsafeDisableDeepCopy}
	if cluster != "" {
		opts = append(opts, client.MatchingFields{cinder.IndexTargetCluster: cluster})
	}
	list := &v1alpha1.CinderList{}
	if err := o.cache.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("list the Cinders on %q: %w", cluster, err)
	}
	var out []*v1alpha1.Cinder
	for i := range list.Items {
		if clusterOf(&list.Items[i]) == cluster {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

func (o *owners) count(ctx context.Context, cluster string) (int, error) {
	list, err := o.on(ctx, cluster)
	return len(list), err
}

func (o *owners) namespaces(ctx context.Context, cluster string) ([]string, error) {
	list, err := o.on(ctx, cluster)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(list))
	for _, cr := range list {
		out = append(out, cr.Namespace)
	}
	return out, nil
}

// follow calls moved with the name of a cluster whenever a Cinder begins or ends
// to name it. The cache need not be started.
func (o *owners) follow(ctx context.Context, moved func(cluster string)) error {
	informer, err := o.cache.GetInformer(ctx, &v1alpha1.Cinder{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch Cinders: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if cr, ok := obj.(*v1alpha1.Cinder); ok {
				moved(clusterOf(cr))
			}
		},
		UpdateFunc: func(old, obj any) {
			was, ok1 := old.(*v1alpha1.Cinder)
			is, ok2 := obj.(*v1alpha1.Cinder)
			if ok1 && ok2 && clusterOf(was) != clusterOf(is) {
				moved(clusterOf(was))
				moved(clusterOf(is))
			}
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if cr, ok := obj.(*v1alpha1.Cinder); ok {
				moved(clusterOf(cr))
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch Cinders: %w", err)
	}
	return nil
}

func clusterOf(cr *v1alpha1.Cinder) string {
	if ref := cr.Spec.TargetClusterRef; ref != nil {
		return ref.Name
	}
	return ""
}
