// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"c5c3.io/cinder-operator/clusters"
)

// Sweep issues deletes for every child of the scope's owner on the target, of
// every kind that the target serves, and returns what it found. It reads live
// and metadata alone. Deletes are Background; what foreign finalizers hold back
// is not waited for and comes with Terminating set.
//
// A kind that fails does not keep the others from being swept; a cluster that
// does not answer, or whose lists do not end, ends the sweep. In all cases the
// error says that the result is not whole.
func (s *Scope) Sweep(ctx context.Context) (found []Ref, err error) {
	ctx, r, cancel := s.p.readAlone(ctx, s.target)
	defer cancel()
	w := &sweep{Scope: s, reading: r}
	var errs []error
	for _, kind := range s.p.kinds {
		err := tooLong(ctx, w.kind(ctx, kind))
		if err == nil {
			continue
		}
		errs = append(errs, err)
		if ends(ctx, err) {
			break
		}
	}
	return w.found, errors.Join(errs...)
}

// ends tells whether a sweep goes no further after an error.
func ends(ctx context.Context, err error) bool {
	_, unavailable := clusters.AsUnavailable(err)
	return unavailable || errors.Is(err, ErrEndless) || errors.Is(err, ErrBusy) || ctx.Err() != nil
}

// sweep is one sweep over all kinds.
type sweep struct {
	*Scope
	*reading
	found []Ref
	kept  int64
}

func (w *sweep) kind(ctx context.Context, kind clusters.ChildKind) error {
	s := w.Scope
	gvk, served, err := s.p.served(s.target, kind)
	if err != nil || !served {
		return err
	}
	var errs []error
	// Without a selector: an object whose labels were taken off, or that stems
	// from the time before the owner named another cluster, is found too.
	err = eachMetadata(ctx, w.reading, s.target, gvk, func(item *metav1.PartialObjectMetadata) error {
		if !s.swept(item) {
			return nil
		}
		ref := refTo(gvk, item)
		w.found = append(w.found, ref)
		w.kept += ref.size()
		if err := keeps(w.kept); err != nil || ref.Terminating {
			return err
		}
		err := s.deleteExactly(ctx, ref, item, metav1.DeletePropagationBackground)
		if err = s.wrap("delete", ref, err); err == nil {
			return nil
		}
		if ends(ctx, err) {
			return &endedError{err}
		}
		errs = append(errs, err)
		return nil
	}, client.InNamespace(s.owner.Namespace))
	var ended *endedError
	switch {
	case errors.As(err, &ended):
		errs = append(errs, ended.error)
	case err != nil && !meta.IsNoMatchError(err):
		errs = append(errs, fmt.Errorf("list %s in %s on %s: %w", gvk.Kind, s.owner.Namespace, s.target, err))
	}
	return errors.Join(errs...)
}

// endedError is the error of a delete after which no other is tried.
type endedError struct{ error }

// swept tells whether a sweep takes an object: by its labels, also those that
// an operator without the hub label set and ours has applied since; and by a
// controller owner reference to this very owner, on whichever cluster. A field
// manager alone names no owner and is not enough to delete.
func (s *Scope) swept(o metav1.Object) bool {
	if s.labelsMatch(o) {
		return true
	}
	if c := metav1.GetControllerOf(o); c != nil && c.UID == s.owner.UID {
		return true
	}
	return s.ownerNamed(o.GetLabels()) && o.GetLabels()[LabelOwnerHub] == "" &&
		readManagers(o, "").applied(s.p.manager)
}

// served tells whether a target serves a kind. Only optional kinds are asked
// for.
func (p *Projector) served(t clusters.Target, kind clusters.ChildKind) (schema.GroupVersionKind, bool, error) {
	gvk, err := apiutil.GVKForObject(kind.Object, p.scheme)
	if err != nil {
		return gvk, false, fmt.Errorf("kind of %T: %w", kind.Object, err)
	}
	if !kind.Optional {
		return gvk, true, nil
	}
	served, err := t.Serves(gvk)
	if err != nil {
		return gvk, false, fmt.Errorf("ask %s for %s: %w", t, gvk.Kind, err)
	}
	return gvk, served, nil
}

func refTo(gvk schema.GroupVersionKind, o metav1.Object) Ref {
	return Ref{
		GroupVersionKind: gvk,
		Namespace:        o.GetNamespace(),
		Name:             o.GetName(),
		UID:              o.GetUID(),
		Terminating:      o.GetDeletionTimestamp() != nil,
	}
}

// size is about what a Ref takes in memory, in bytes.
func (r Ref) size() int64 { return int64(100 + len(r.Namespace) + len(r.Name) + len(r.UID)) }

// Orphan is a child of this hub whose owner is gone.
type Orphan struct {
	Ref
	// OwnerKind, OwnerNamespace and OwnerName are what its labels name.
	OwnerKind, OwnerNamespace, OwnerName string
}

// Orphans lists, live, the children of this hub on a target whose owner exists
// does not know. namespaces limits the search; none means the whole cluster.
// Nothing is deleted.
func (p *Projector) Orphans(
	ctx context.Context, t clusters.Target, namespaces []string,
	exists func(ctx context.Context, kind, namespace, name string) (bool, error),
) ([]Orphan, error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	ctx, r, cancel := p.read(ctx)
	defer cancel()
	known, kept := map[[3]string]bool{}, int64(0)
	var out []Orphan
	for _, kind := range p.kinds {
		gvk, served, err := p.served(t, kind)
		if err != nil {
			return nil, err
		}
		if !served {
			continue
		}
		look := func(item *metav1.PartialObjectMetadata) error {
			have := item.GetLabels()
			o := Orphan{Ref: refTo(gvk, item), OwnerKind: have[LabelOwnerKind],
				OwnerNamespace: have[LabelOwnerNamespace], OwnerName: have[LabelOwnerName]}
			id := [3]string{o.OwnerKind, o.OwnerNamespace, o.OwnerName}
			there, asked := known[id]
			if !asked {
				var err error
				if there, err = exists(ctx, o.OwnerKind, o.OwnerNamespace, o.OwnerName); err != nil {
					return fmt.Errorf("look up %s %s/%s: %w", o.OwnerKind, o.OwnerNamespace, o.OwnerName, err)
				}
				known[id] = there
			}
			if !asked || !there {
				kept += o.size() + int64(len(id[0])+len(id[1])+len(id[2]))
			}
			if !there {
				out = append(out, o)
			}
			return keeps(kept)
		}
		for _, namespace := range namespaces {
			err := eachMetadata(ctx, r, t, gvk, look, client.InNamespace(namespace),
				client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(labels.Set{LabelOwnerHub: p.hubUID})})
			if err != nil {
				return nil, fmt.Errorf("list %s on %s: %w", gvk.Kind, t, err)
			}
		}
	}
	return out, nil
}
