// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refer adds kinds whose objects others own and whose status is looked at. It is called before the first sync only.
func (s *informerSet) refer(kinds []schema.GroupVersionKind) {
	for _, gvk := range kinds {
		key := kindKey{gvk, false}
		s.wanted[key] = referenceOf(gvk)
		s.left[key] = errNotSynced
		s.references.Insert(gvk)
	}
}

// perNamespace tells whether the kind is left to the watches of the namespaces in use.
func (s *informerSet) perNamespace(key kindKey, now *served) bool {
	return !key.metadata && s.references.Has(key.gvk) && now.kinds[key.gvk]
}

func referenceOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// Reference reads an object that is named but not owned. It comes from memory where Options.References lists its kind,
// with its name, identity and status alone, and live where the kind is not watched. A missing object is an apierrors
// NotFound, one that may not be read a Forbidden.
func Reference(ctx context.Context, t Target, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	u, err := reference(ctx, t, gvk, key)
	if err != nil {
		return nil, fmt.Errorf("get %s %s on %s: %w", gvk.Kind, keyString(key), t, err)
	}
	return u, nil
}

func reference(ctx context.Context, t Target, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if in, ok := t.Inputs().(*inputs); ok && key.Namespace != "" {
		if u, watched, err := in.reference(ctx, gvk, key); watched || err != nil {
			return u, err
		}
	}
	u := referenceOf(gvk)
	err := t.Client().Get(ctx, key, u)
	var uncached *cache.ErrResourceNotCached
	if errors.As(err, &uncached) {
		u = referenceOf(gvk)
		err = t.APIReader().Get(ctx, key, u)
	}
	return u, err
}

// reference answers what the watch of the object's namespace shows, and whether there is one. A kind that is not listed as
// a reference has none.
func (in *inputs) reference(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, bool, error) {
	if _, done, err := in.guard.enter(ctx); err != nil {
		return nil, false, err
	} else {
		done()
	}
	obj, watched := in.spaces.get(kindKey{gvk, false}, key)
	if !watched {
		return nil, false, nil
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, true, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind)}, key.Name)
	}
	return u.DeepCopy(), true, nil
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

// news leaves out what says nothing new of a reference: others write to theirs as often as they like, and each event is
// looked up.
func news(emit func(Event)) func(Event) {
	return func(ev Event) {
		if ev.Old == nil || !sameReference(ev.Old, ev.Object) {
			emit(ev)
		}
	}
}

// sameReference tells whether two states of a reference, as stripReference leaves them, differ in their version alone.
func sameReference(was, is client.Object) bool {
	old, ok := was.(*unstructured.Unstructured)
	now, okNow := is.(*unstructured.Unstructured)
	return ok && okNow && old.GetUID() == now.GetUID() && old.GetGeneration() == now.GetGeneration() &&
		old.GetDeletionTimestamp().Equal(now.GetDeletionTimestamp()) && reflect.DeepEqual(old.Object["status"], now.Object["status"])
}
