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

// listPage is how many objects one list call asks for.
const listPage = 500

// Sweep issues deletes for every child of the scope's owner on the target, of
// every kind that the target serves, and returns what it found. It reads live
// and metadata alone. Deletes are Background; what foreign finalizers hold back
// is not waited for and comes with Terminating set.
//
// A kind that fails does not keep the others from being swept; a cluster that
// does not answer ends the sweep. In both cases the error says that the
// result is not whole.
func (s *Scope) Sweep(ctx context.Context) (found []Ref, err error) {
	var errs []error
	for _, kind := range s.p.kinds {
		refs, err := s.sweepKind(ctx, kind)
		found = append(found, refs...)
		if err == nil {
			continue
		}
		errs = append(errs, err)
		if _, unavailable := clusters.AsUnavailable(err); unavailable || ctx.Err() != nil {
			break
		}
	}
	return found, errors.Join(errs...)
}

func (s *Scope) sweepKind(ctx context.Context, kind clusters.ChildKind) ([]Ref, error) {
	gvk, served, err := s.p.served(s.target, kind)
	if err != nil || !served {
		return nil, err
	}
	// Without a selector: an object whose labels were taken off, or that stems
	// from the time before the owner named another cluster, is found too.
	items, err := listMetadata(ctx, s.target, gvk, client.InNamespace(s.owner.Namespace))
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s in %s on %s: %w", gvk.Kind, s.owner.Namespace, s.target, err)
	}
	var refs []Ref
	var errs []error
	for i := range items {
		item := &items[i]
		if !s.swept(item) {
			continue
		}
		ref := refTo(gvk, item)
		refs = append(refs, ref)
		if ref.Terminating {
			continue
		}
		if err := s.deleteExactly(ctx, ref, item, metav1.DeletePropagationBackground); err != nil {
			err = s.wrap("delete", ref, err)
			errs = append(errs, err)
			if _, unavailable := clusters.AsUnavailable(err); unavailable || ctx.Err() != nil {
				break
			}
		}
	}
	return refs, errors.Join(errs...)
}

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

// listMetadata lists live and page by page, without the objects' content.
func listMetadata(ctx context.Context, t clusters.Target, gvk schema.GroupVersionKind, opts ...client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	var out []metav1.PartialObjectMetadata
	next := ""
	for {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := t.APIReader().List(ctx, page, append(opts, client.Limit(listPage), client.Continue(next))...); err != nil {
			return nil, err
		}
		for i := range page.Items {
			page.Items[i].SetGroupVersionKind(gvk)
		}
		out = append(out, page.Items...)
		if next = page.Continue; next == "" {
			return out, nil
		}
	}
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
	known := map[[3]string]bool{}
	var out []Orphan
	for _, kind := range p.kinds {
		gvk, served, err := p.served(t, kind)
		if err != nil {
			return nil, err
		}
		if !served {
			continue
		}
		for _, namespace := range namespaces {
			items, err := listMetadata(ctx, t, gvk, client.InNamespace(namespace),
				client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(labels.Set{LabelOwnerHub: p.hubUID})})
			if err != nil {
				return nil, fmt.Errorf("list %s on %s: %w", gvk.Kind, t, err)
			}
			for i := range items {
				have := items[i].GetLabels()
				o := Orphan{Ref: refTo(gvk, &items[i]), OwnerKind: have[LabelOwnerKind],
					OwnerNamespace: have[LabelOwnerNamespace], OwnerName: have[LabelOwnerName]}
				id := [3]string{o.OwnerKind, o.OwnerNamespace, o.OwnerName}
				there, asked := known[id]
				if !asked {
					if there, err = exists(ctx, o.OwnerKind, o.OwnerNamespace, o.OwnerName); err != nil {
						return nil, fmt.Errorf("look up %s %s/%s: %w", o.OwnerKind, o.OwnerNamespace, o.OwnerName, err)
					}
					known[id] = there
				}
				if !there {
					out = append(out, o)
				}
			}
		}
	}
	return out, nil
}
