// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Delete deletes the child of obj's kind and name and tells whether nothing of
// ours by that name is left. It reads live, names the propagation, and deletes
// only the object it has looked at. An object that is not ours is left alone:
// ours is gone. While something holds the object back (a finalizer, dependents
// of a Foreground delete) gone is false without an error, and no second delete
// is issued.
func (s *Scope) Delete(ctx context.Context, obj client.Object, propagation metav1.DeletionPropagation) (gone bool, err error) {
	ref, err := s.refOf(obj, obj.GetName())
	if err != nil {
		return false, err
	}
	live := metadataOf(ref)
	there, err := s.readLive(ctx, ref, live)
	switch {
	case meta.IsNoMatchError(err), err == nil && !there:
		s.p.keys.remove(s.key(ref))
		return true, nil
	case err != nil:
		return false, s.wrap("get", ref, err)
	case !s.judge(ref, live).ours:
		return true, nil
	case live.GetDeletionTimestamp() != nil:
		return false, nil
	}
	uid := live.GetUID()
	if err := s.deleteExactly(ctx, ref, live, propagation); err != nil {
		return false, s.wrap("delete", ref, err)
	}
	left := metadataOf(ref)
	there, err = s.readLive(ctx, ref, left)
	if err != nil {
		return false, s.wrap("get", ref, err)
	}
	return !there || left.GetUID() != uid, nil
}

// deleteExactly deletes one object by its UID. That it is gone, or that another
// has taken its name, is what was wanted.
func (s *Scope) deleteExactly(ctx context.Context, ref Ref, obj client.Object, propagation metav1.DeletionPropagation) error {
	uid := obj.GetUID()
	err := s.target.Client().Delete(ctx, obj,
		client.PropagationPolicy(propagation), client.Preconditions{UID: &uid})
	switch {
	case err == nil:
		s.countWrite(ref, opDelete)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err) && s.replaced(ctx, ref, uid):
	default:
		return err
	}
	s.p.keys.remove(s.key(ref))
	return nil
}

// replaced tells whether the object of that UID is no longer there.
func (s *Scope) replaced(ctx context.Context, ref Ref, uid types.UID) bool {
	now := metadataOf(ref)
	there, err := s.readLive(ctx, ref, now)
	return err == nil && (!there || now.GetUID() != uid)
}

// metadataOf makes an object to read metadata into, which is all that a delete
// needs to know.
func metadataOf(ref Ref) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(ref.GroupVersionKind)
	return o
}
