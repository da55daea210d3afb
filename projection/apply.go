// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply makes an object of the scope's owner what intent says and returns it as
// the cluster holds it, with its status. intent is a typed object, or an
// *unstructured.Unstructured, with the fields that the caller decides on; its
// namespace may be left out, its status and owner references are ignored. A
// field that leaves the intent is taken away.
//
// Nothing is written, and nothing read live, while the cache shows the object
// as the last apply of the same intent left it.
//
// Errors: *ForeignObjectError where the name is taken by an object that is not
// ours, *TerminatingError (ErrTerminating) while ours is being deleted,
// *clusters.UnavailableError where the cluster or its namespace cannot serve. A
// change of an immutable field is the server's Invalid: the caller deletes.
func Apply[T client.Object](ctx context.Context, s *Scope, intent T) (T, error) {
	var none T
	in, err := s.newIntent(intent)
	if err != nil {
		return none, err
	}
	return applyAs[T](ctx, s, in)
}

// ApplyFrom is Apply for an object with fields that follow what the cluster
// holds: render makes the intent from the object that is there, or from the zero
// T. It may be asked several times. A write is bound to the version that it was
// rendered from, so that what somebody else wrote since is never undone.
func ApplyFrom[T client.Object](ctx context.Context, s *Scope, render func(live T) T) (T, error) {
	var none T
	in, err := s.newIntent(render(none))
	if err != nil {
		return none, err
	}
	in.from = func(current client.Object) (*intent, error) {
		live, ok := current.(T)
		if !ok {
			return nil, fmt.Errorf("apply %s: got %T for %T", in.ref, current, none)
		}
		return s.newIntent(render(live))
	}
	return applyAs[T](ctx, s, in)
}

func applyAs[T client.Object](ctx context.Context, s *Scope, in *intent) (T, error) {
	var none T
	live, err := s.apply(ctx, in)
	if err != nil {
		return none, err
	}
	out, ok := live.(T)
	if !ok {
		return none, fmt.Errorf("apply %s: got %T for %T", in.ref, live, none)
	}
	return out, nil
}

func (s *Scope) apply(ctx context.Context, in *intent) (client.Object, error) {
	out, err := s.applyOnce(ctx, in, false)
	// The object came, went or moved on since it was read: look at what is there
	// now. Then it is the caller's to retry, unless any write of others, also to the
	// status, is in the way.
	tries := 1
	if in.from != nil {
		tries = 5
	}
	for ; tries > 0 && overtaken(err); tries-- {
		out, err = s.applyOnce(ctx, in, true)
	}
	if err != nil {
		return nil, s.wrap("apply", in.ref, err)
	}
	return out, nil
}

// overtaken tells whether a write met another object than the one that was
// read. A UID that names another object than the one at hand is answered as an
// attempt to change it.
func overtaken(err error) bool {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}

// applyOnce reads, judges and writes.
func (s *Scope) applyOnce(ctx context.Context, in *intent, live bool) (client.Object, error) {
	current, adopt, err := s.observe(ctx, in, live)
	switch {
	case err != nil:
		return nil, err
	case current == nil:
		return s.create(ctx, in)
	case current.GetDeletionTimestamp() != nil:
		return nil, s.terminating(in.ref, current)
	case adopt:
		if current, err = s.takeover(ctx, in, current); err != nil {
			return nil, err
		}
	}
	if in, err = in.asOf(current); err != nil {
		return nil, err
	}
	if adopt {
		return s.update(ctx, in, current)
	}
	if last, known := s.p.keys.get(s.key(in.ref)); known && s.unchanged(in, last, current) {
		return current, nil
	}
	return s.update(ctx, in, current)
}

// observe finds the object of ours that the intent is about, or none, and tells
// whether it has to be adopted first. It reads live where the cache is blind to
// the object, or when told to, and fails for an object that is not ours.
func (s *Scope) observe(ctx context.Context, in *intent, live bool) (current client.Object, adopt bool, err error) {
	obj, found := in.like(), false
	if !live {
		if found, err = s.readCached(ctx, in.ref, obj); err != nil {
			return nil, false, err
		}
	}
	if !found || !s.oursByLabels(obj) {
		// Metadata first: the content of a Secret that is not ours is never read.
		for _, probe := range []client.Object{metadataOf(in.ref), in.like()} {
			if found, err = s.readLive(ctx, in.ref, probe); err != nil || !found {
				return nil, false, err
			}
			v := s.judge(in.ref, probe)
			if !v.ours {
				return nil, false, s.foreign(in.ref, v.owner)
			}
			obj, adopt = probe, v.takeover
		}
	}
	if owner, foreign := s.foreignController(obj); foreign {
		return nil, false, s.foreign(in.ref, owner)
	}
	return obj, adopt, nil
}

// create makes the first apply without force: if the name was taken since it
// was looked up, that is a conflict and no takeover.
func (s *Scope) create(ctx context.Context, in *intent) (client.Object, error) {
	out, err := s.patch(ctx, in, "", false)
	if err != nil {
		return nil, err
	}
	s.countWrite(in.ref, opCreate)
	s.remember(in, out)
	return out, nil
}

// update applies with force: whoever else claims a field of the intent loses
// it. The UID keeps the force from an object that took the name meanwhile.
func (s *Scope) update(ctx context.Context, in *intent, current client.Object) (client.Object, error) {
	out, err := s.patch(ctx, in, current.GetUID(), true)
	if err != nil {
		return nil, err
	}
	last, known := s.p.keys.get(s.key(in.ref))
	version := out.GetResourceVersion()
	if version != current.GetResourceVersion() && (!known || version != last.resourceVersion) {
		s.countWrite(in.ref, opUpdate)
	}
	s.remember(in, out)
	if out.GetDeletionTimestamp() != nil {
		return nil, s.terminating(in.ref, out)
	}
	return out, nil
}

func (s *Scope) patch(ctx context.Context, in *intent, uid types.UID, force bool) (client.Object, error) {
	patch, err := in.patch(uid)
	if err != nil {
		return nil, err
	}
	opts := []client.PatchOption{client.FieldOwner(s.p.manager)}
	if force {
		opts = append(opts, client.ForceOwnership)
	}
	out := in.like()
	out.SetNamespace(in.ref.Namespace)
	out.SetName(in.ref.Name)
	if err := s.target.Client().Patch(ctx, out, patch, opts...); err != nil {
		return nil, err
	}
	return out, nil
}

// takeover makes the previous managers' fields ours, so that the apply that
// follows drops what the intent does not name.
func (s *Scope) takeover(ctx context.Context, in *intent, current client.Object) (client.Object, error) {
	patch, err := readManagers(current, in.ref.GroupVersionKind.GroupVersion().String()).
		takeoverPatch(current, s.p.manager)
	if err != nil {
		return nil, err
	}
	out := in.like()
	out.SetNamespace(in.ref.Namespace)
	out.SetName(in.ref.Name)
	if err := s.target.Client().Patch(ctx, out, patch, client.FieldOwner(s.p.manager)); err != nil {
		return nil, err
	}
	s.countWrite(in.ref, opAdopt)
	return out, nil
}

func (s *Scope) key(ref Ref) objectKey {
	return objectKey{
		cluster:   s.target.UID(),
		kind:      ref.GroupVersionKind.GroupKind(),
		namespace: ref.Namespace,
		name:      ref.Name,
	}
}

func (s *Scope) remember(in *intent, out client.Object) {
	s.p.keys.put(s.key(in.ref), applied{
		owner:           s.owner,
		uid:             out.GetUID(),
		generation:      out.GetGeneration(),
		resourceVersion: out.GetResourceVersion(),
		intent:          in.hash,
	})
}

// unchanged tells whether an object is as the last apply of the same intent
// left it. Where the API server counts generations a change of the status is
// none of ours; the rest of the metadata, which no generation counts, is
// compared. Elsewhere any new resourceVersion is a change.
func (s *Scope) unchanged(in *intent, last applied, current client.Object) bool {
	if last.intent != in.hash || last.uid != current.GetUID() || last.owner.UID != s.owner.UID {
		return false
	}
	if s.p.rvKeyed[in.ref.GroupVersionKind.GroupKind().String()] || current.GetGeneration() == 0 {
		return last.resourceVersion == current.GetResourceVersion()
	}
	return last.generation == current.GetGeneration() &&
		contains(current.GetLabels(), in.labels) &&
		contains(current.GetAnnotations(), in.annotations) &&
		s.referenced(current)
}

// referenced tells whether the owner reference that belongs on the object is
// there.
func (s *Scope) referenced(o metav1.Object) bool {
	want, ok := s.ownerReference()
	if !ok {
		return true
	}
	have := metav1.GetControllerOf(o)
	return have != nil && have.UID == want.UID && have.APIVersion == want.APIVersion &&
		have.Kind == want.Kind && have.Name == want.Name &&
		have.BlockOwnerDeletion != nil && *have.BlockOwnerDeletion
}

func contains(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}
