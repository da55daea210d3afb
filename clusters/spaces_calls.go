// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// object is an empty object of the kind.
func (k kindKey) object() client.Object {
	if k.metadata {
		return metadataOf(k.gvk)
	}
	return referenceOf(k.gvk)
}

// namespacedResource answers the resource of a kind that is served and lives in namespaces.
func (s *served) namespacedResource(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	if s == nil || !s.kinds[gvk] {
		return schema.GroupVersionResource{}, false
	}
	m, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return schema.GroupVersionResource{}, false
	}
	return m.Resource, true
}

// calls are those of an informer of one kind in one namespace. A kind that the cluster will not hand out is given up
// until somebody asks for another try, and read live meanwhile.
func (s *spaces) calls(namespace string, key kindKey, resource schema.GroupVersionResource, w *spaceWatch) *toolscache.ListWatch {
	list := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return s.dynamic.Resource(resource).Namespace(namespace).List(ctx, opts)
	}
	open := s.dynamic.Resource(resource).Namespace(namespace).Watch
	if key.metadata {
		list = func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return s.metadata.Resource(resource).Namespace(namespace).List(ctx, opts)
		}
		open = s.metadata.Resource(resource).Namespace(namespace).Watch
	}
	refused := func(err error) {
		if refusedKind(err) {
			w.refused.Store(true)
			w.stop()
			s.dropped(namespace)
		}
	}
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			out, err := list(ctx, opts)
			refused(err)
			return out, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			out, err := open(ctx, opts)
			refused(err)
			return out, err
		},
	}
}

// stripInput is stripMetadata for objects that come without their kind.
func stripInput(gvk schema.GroupVersionKind) toolscache.TransformFunc {
	return func(in any) (any, error) {
		if obj, ok := in.(*metav1.PartialObjectMetadata); ok {
			obj.SetGroupVersionKind(gvk)
		}
		return stripMetadata(in)
	}
}
