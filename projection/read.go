// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Get reads a child of the scope's owner from the cache. An object that is not
// there, or not ours, is an apierrors NotFound.
func (s *Scope) Get(ctx context.Context, name string, into client.Object) error {
	ref, err := s.refOf(into, name)
	if err != nil {
		return err
	}
	found, err := s.readCached(ctx, ref, into)
	if err != nil {
		return s.wrap("get", ref, err)
	}
	if !found || !s.oursByLabels(into) {
		return notFound(ref)
	}
	return nil
}

// List reads the children of the scope's owner, of the list's kind and with the
// given labels (nil: all), from the cache.
func (s *Scope) List(ctx context.Context, list client.ObjectList, sel labels.Set) error {
	opts := []client.ListOption{
		client.InNamespace(s.owner.Namespace),
		client.MatchingLabels(merged(sel, s.labels)),
	}
	err := s.target.Client().List(ctx, list, opts...)
	if notCached(err) {
		err = s.target.APIReader().List(ctx, list, opts...)
	}
	if err != nil {
		gvk, kindErr := apiutil.GVKForObject(list, s.p.scheme)
		if kindErr != nil {
			return fmt.Errorf("kind of %T: %w", list, kindErr)
		}
		return fmt.Errorf("list %s of %s on %s: %w", strings.TrimSuffix(gvk.Kind, "List"), s.owner, s.target, err)
	}
	return nil
}

// readCached reads from the cache of children. A kind without an informer (its
// CRD has just appeared, or may not be watched) is read live instead.
func (s *Scope) readCached(ctx context.Context, ref Ref, into client.Object) (bool, error) {
	err := s.target.Client().Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, into)
	if notCached(err) {
		return s.readLive(ctx, ref, into)
	}
	return found(err)
}

func (s *Scope) readLive(ctx context.Context, ref Ref, into client.Object) (bool, error) {
	return found(s.target.APIReader().Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, into))
}

func found(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func notCached(err error) bool {
	var missing *cache.ErrResourceNotCached
	return errors.As(err, &missing)
}

func (s *Scope) refOf(obj client.Object, name string) (Ref, error) {
	gvk, err := apiutil.GVKForObject(obj, s.p.scheme)
	if err != nil {
		return Ref{}, fmt.Errorf("kind of %T: %w", obj, err)
	}
	return Ref{GroupVersionKind: gvk, Namespace: s.owner.Namespace, Name: name}, nil
}

func notFound(ref Ref) error {
	plural, _ := meta.UnsafeGuessKindToResource(ref.GroupVersionKind)
	return apierrors.NewNotFound(schema.GroupResource{Group: plural.Group, Resource: plural.Resource}, ref.Name)
}
