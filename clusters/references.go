// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// refer adds kinds whose objects others own and whose status is looked at. It is called before the first sync only.
func (s *informerSet) refer(kinds []schema.GroupVersionKind) {
	for _, gvk := range kinds {
		key := kindKey{gvk, false}
		s.wanted[key] = referenceOf(gvk)
		s.left[key] = errNotSynced
	}
}

func referenceOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// Reference reads an object that is named but not owned. It comes from the cache where Options.References lists its kind,
// with its name, identity and status alone, and live where the kind is not cached. A missing object is an apierrors
// NotFound, one that may not be read a Forbidden.
func Reference(ctx context.Context, t Target, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	u := referenceOf(gvk)
	err := t.Client().Get(ctx, key, u)
	var uncached *cache.ErrResourceNotCached
	if errors.As(err, &uncached) {
		u = referenceOf(gvk)
		err = t.APIReader().Get(ctx, key, u)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s on %s: %w", gvk.Kind, keyString(key), t, err)
	}
	return u, nil
}

func keyString(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.String()
}

// stripReference keeps the status, and of the rest what tells one state of an object from another.
func stripReference(in any) (any, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	out := referenceOf(u.GroupVersionKind())
	out.SetNamespace(u.GetNamespace())
	out.SetName(u.GetName())
	out.SetUID(u.GetUID())
	out.SetResourceVersion(u.GetResourceVersion())
	out.SetGeneration(u.GetGeneration())
	out.SetDeletionTimestamp(u.GetDeletionTimestamp())
	if status, ok := u.Object["status"]; ok {
		out.Object["status"] = status
	}
	return out, nil
}
