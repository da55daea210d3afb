// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RevisionHistory is how many revisions are kept beside the current one.
const RevisionHistory = 3

// revisionDigest is the length of the digest in a revision's name, in hex.
const revisionDigest = 10

// ApplyRevision applies a Secret or ConfigMap that never changes: its name is
// base and a digest of its content, which it returns; new content is a new
// object. intent's own name is ignored. The other revisions of the base stay
// until PruneRevisions, SweepUnnamed or SweepRevisions.
func (s *Scope) ApplyRevision(ctx context.Context, base string, intent client.Object) (string, error) {
	if base == "" {
		return "", errors.New("a revision without a base name")
	}
	revision, err := asRevision(base, intent)
	if err != nil {
		return "", err
	}
	in, err := s.newIntent(revision)
	if err != nil {
		return "", err
	}
	live, err := s.apply(ctx, in)
	if apierrors.IsInvalid(err) || err == nil && !sameContent(live, revision) {
		// Somebody made an object of that name with other content: what is named
		// after its content has to hold it.
		gone, deleteErr := s.Delete(ctx, revision, metav1.DeletePropagationBackground)
		switch {
		case deleteErr != nil:
			return "", deleteErr
		case !gone:
			return "", s.terminating(in.ref, revision)
		}
		_, err = s.apply(ctx, in)
	}
	if err != nil {
		return "", err
	}
	return in.ref.Name, nil
}

// asRevision is a copy of an object, immutable and named after its content.
func asRevision(base string, intent client.Object) (client.Object, error) {
	yes := true
	content := struct {
		Kind, Type string
		Text       map[string]string
		Data       map[string][]byte
	}{}
	var out client.Object
	switch o := intent.(type) {
	case *corev1.Secret:
		o = foldStringData(o).DeepCopy()
		o.Immutable = &yes
		content.Kind, content.Type, content.Data = "Secret", string(o.Type), o.Data
		out = o
	case *corev1.ConfigMap:
		o = o.DeepCopy()
		o.Immutable = &yes
		content.Kind, content.Text, content.Data = "ConfigMap", o.Data, o.BinaryData
		out = o
	default:
		return nil, fmt.Errorf("revision %s: %T is neither a Secret nor a ConfigMap", base, intent)
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", base, err)
	}
	sum := sha256.Sum256(data)
	name := base + "-" + hex.EncodeToString(sum[:])[:revisionDigest]
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return nil, fmt.Errorf("revision %s: the name has more than %d characters", base, validation.DNS1123SubdomainMaxLength)
	}
	out.SetName(name)
	out.SetLabels(merged(out.GetLabels(), map[string]string{LabelRevisionBase: baseLabel(base)}))
	out.SetAnnotations(merged(out.GetAnnotations(), map[string]string{AnnotationRevisionBase: base}))
	return out, nil
}

// baseLabel is a base name as a label value; one that is too long becomes its
// digest, of a length that no other base can be mistaken for in practice.
func baseLabel(base string) string {
	if len(validation.IsValidLabelValue(base)) == 0 {
		return base
	}
	sum := sha256.Sum256([]byte(base))
	return "sha256-" + hex.EncodeToString(sum[:])[:maxLabelValue-len("sha256-")]
}

// baseOf is the base name that a revision belongs to.
func baseOf(o metav1.Object) string {
	if base := o.GetAnnotations()[AnnotationRevisionBase]; base != "" && baseLabel(base) == o.GetLabels()[LabelRevisionBase] {
		return base
	}
	return o.GetLabels()[LabelRevisionBase]
}

func sameContent(live, want client.Object) bool {
	switch w := want.(type) {
	case *corev1.Secret:
		l, ok := live.(*corev1.Secret)
		return ok && equalBytes(l.Data, w.Data)
	case *corev1.ConfigMap:
		l, ok := live.(*corev1.ConfigMap)
		return ok && len(l.Data) == len(w.Data) && contains(l.Data, w.Data) && equalBytes(l.BinaryData, w.BinaryData)
	}
	return false
}

func equalBytes(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		w, ok := b[k]
		if !ok || !bytes.Equal(v, w) {
			return false
		}
	}
	return true
}

// RevisionBases lists, sorted, all bases that the scope's owner has revisions
// of. kind is an empty Secret or ConfigMap.
func (s *Scope) RevisionBases(ctx context.Context, kind client.Object) ([]string, error) {
	revisions, _, err := s.cachedRevisions(ctx, kind, "")
	if err != nil {
		return nil, err
	}
	var bases []string
	for _, r := range revisions {
		bases = append(bases, baseOf(r))
	}
	slices.Sort(bases)
	return slices.Compact(bases), nil
}

// SweepRevisions deletes every revision of a base, whoever still names it. It
// reads live.
func (s *Scope) SweepRevisions(ctx context.Context, kind client.Object, base string) error {
	ref, err := s.refOf(kind, base)
	if err != nil {
		return err
	}
	ctx, r, cancel := s.p.readAlone(ctx, s.target)
	defer cancel()
	var errs []error
	err = eachMetadata(ctx, r, s.target, ref.GroupVersionKind, func(item *metav1.PartialObjectMetadata) error {
		if item.GetDeletionTimestamp() != nil {
			return nil
		}
		err := s.deleteRevision(ctx, refTo(ref.GroupVersionKind, item), item)
		if err != nil && ends(ctx, err) {
			return &endedError{err}
		}
		if err != nil {
			errs = append(errs, err)
		}
		return nil
	}, client.InNamespace(s.owner.Namespace),
		client.MatchingLabels(merged(s.labels, map[string]string{LabelRevisionBase: baseLabel(base)})))
	var ended *endedError
	switch {
	case errors.As(err, &ended):
		errs = append(errs, ended.error)
	case err != nil:
		errs = append(errs, s.wrap("list revisions of", ref, err))
	}
	return errors.Join(errs...)
}

// SweepUnnamed deletes the revisions of a base that no pod template in the
// namespace and no ReplicaSet with pods names. What is still named stays until it
// is asked for again: a pod that is made anew could not start without it.
func (s *Scope) SweepUnnamed(ctx context.Context, kind client.Object, base string) error {
	revisions, ref, err := s.cachedRevisions(ctx, kind, base)
	if err != nil {
		return err
	}
	revisions = slices.DeleteFunc(revisions, func(r client.Object) bool { return r.GetDeletionTimestamp() != nil })
	if len(revisions) == 0 {
		return nil
	}
	slices.SortFunc(revisions, newestFirst)
	return s.pruneUnnamed(ctx, ref, base, revisions)
}

// PruneRevisions deletes the revisions of a base beyond the current one and the
// RevisionHistory newest others. What a pod template in the namespace, or a
// ReplicaSet with pods, still names is kept whatever its age. Those are read,
// live, only when there is something to prune.
func (s *Scope) PruneRevisions(ctx context.Context, kind client.Object, base, current string) error {
	revisions, ref, err := s.cachedRevisions(ctx, kind, base)
	if err != nil {
		return err
	}
	old := slices.DeleteFunc(revisions, func(r client.Object) bool {
		return r.GetName() == current || r.GetDeletionTimestamp() != nil
	})
	if len(old) <= RevisionHistory {
		return nil
	}
	slices.SortFunc(old, newestFirst)
	return s.pruneUnnamed(ctx, ref, base, old[RevisionHistory:])
}

// newestFirst orders by creation, which the API tells to the second; within a
// second by resourceVersion, which for an object that never changes is one of
// creation too.
func newestFirst(a, b client.Object) int {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return cmp.Or(bt.Compare(at.Time), cmp.Compare(version(b), version(a)), cmp.Compare(a.GetName(), b.GetName()))
}

func version(o client.Object) uint64 {
	v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// cachedRevisions lists the revisions of a base (empty: of all bases).
func (s *Scope) cachedRevisions(ctx context.Context, kind client.Object, base string) ([]client.Object, Ref, error) {
	ref, err := s.refOf(kind, base)
	if err != nil {
		return nil, ref, err
	}
	gvk := ref.GroupVersionKind
	obj, err := s.p.scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, ref, fmt.Errorf("list of %s: %w", gvk.Kind, err)
	}
	list, ok := obj.(client.ObjectList)
	if !ok {
		return nil, ref, fmt.Errorf("list of %s: %T is no list", gvk.Kind, obj)
	}
	var sel labels.Set
	if base != "" {
		sel = labels.Set{LabelRevisionBase: baseLabel(base)}
	}
	if err := s.List(ctx, list, sel); err != nil {
		return nil, ref, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, ref, fmt.Errorf("list of %s: %w", gvk.Kind, err)
	}
	var out []client.Object
	for _, item := range items {
		if o, ok := item.(client.Object); ok && o.GetLabels()[LabelRevisionBase] != "" {
			out = append(out, o)
		}
	}
	return out, ref, nil
}

func (s *Scope) deleteRevision(ctx context.Context, ref Ref, o client.Object) error {
	return s.wrap("delete", ref, s.deleteExactly(ctx, ref, o, metav1.DeletePropagationBackground))
}
