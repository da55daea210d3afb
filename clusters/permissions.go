// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const (
	// maxMissing bounds what a TargetCluster lists: an account without any right lacks all of them in every namespace.
	maxMissing = 256

	// anyNamespace is one that nothing is bound in: the rights an account has there are those it has in all of them.
	anyNamespace = "cinder-operator-rights-in-every-namespace"

	// reviewsAtOnce bounds how many access reviews run side by side.
	reviewsAtOnce = 8
)

// Permission is one verb on one resource that is needed on every cluster which serves the resource.
type Permission struct {
	// Verb is the verb, such as patch.
	Verb string
	// Group is the API group; empty for the core group.
	Group string
	// Resource is the resource in the plural, with its subresource after a slash where there is one.
	Resource string
	// Name is the only object it is needed for; empty means all.
	Name string
	// Namespace is the only namespace it is needed in; empty means those that the cluster is used for.
	Namespace string
}

// rights is what a cluster said of its account. It is never changed after it was made.
type rights struct {
	missing []v1alpha1.MissingPermission
	// more says that missing does not list all of them.
	more bool
}

func (r *rights) equal(o *rights) bool {
	return r != nil && o != nil && r.more == o.more && slices.Equal(r.missing, o.missing)
}

// review asks the cluster what its account may do and tells whether that is news. A cluster that does not say leaves what
// was known.
func (c *connection) review(ctx context.Context, now *served) bool {
	if len(c.needs) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timing.SyncTimeout, errDeadline)
	defer cancel()
	missing, err := c.missing(ctx, now)
	if err != nil {
		if ctx.Err() == nil {
			c.log.Info("The cluster does not say what its account may do", "cause", describe(err))
		}
		return false
	}
	found := &rights{missing: missing}
	if len(missing) > maxMissing {
		found = &rights{missing: missing[:maxMissing:maxMissing], more: true}
	}
	return !found.equal(c.rights.Swap(found))
}

// missing lists what the account lacks, sorted. One review of rules per namespace answers most of it; what has no
// namespace, or is not answered by rules, takes a review of its own.
func (c *connection) missing(ctx context.Context, now *served) ([]v1alpha1.MissingPermission, error) {
	namespaces := c.limit
	if !c.limited {
		namespaces = []string{""}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reviewsAtOnce)
	found := make([][]v1alpha1.MissingPermission, len(namespaces)+1)
	var apart []Permission
	var inRules []Permission
	for _, p := range c.needs {
		namespaced, ok := now.scopeOf(p)
		switch {
		case !ok:
		case !namespaced, p.Namespace != "":
			apart = append(apart, p)
		default:
			inRules = append(inRules, p)
		}
	}
	group.Go(func() (err error) {
		found[len(namespaces)], err = c.refused(ctx, apart, "")
		return err
	})
	for i, namespace := range namespaces {
		group.Go(func() (err error) {
			found[i], err = c.missingIn(ctx, inRules, namespace)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	missing := slices.Concat(found...)
	slices.SortFunc(missing, func(a, b v1alpha1.MissingPermission) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return slices.Compact(missing), nil
}

// missingIn lists what the account lacks in a namespace, or in all of them if it is empty.
func (c *connection) missingIn(ctx context.Context, needs []Permission, namespace string) ([]v1alpha1.MissingPermission, error) {
	review := &authorizationv1.SelfSubjectRulesReview{}
	if review.Spec.Namespace = namespace; namespace == "" {
		review.Spec.Namespace = anyNamespace
	}
	if err := c.cluster.GetClient().Create(ctx, review); err != nil {
		return nil, fmt.Errorf("review the rules in namespace %q: %w", namespace, err)
	}
	var out []v1alpha1.MissingPermission
	var unclear []Permission
	for _, p := range needs {
		switch {
		case slices.ContainsFunc(review.Status.ResourceRules, p.grantedBy):
		case review.Status.Incomplete:
			unclear = append(unclear, p)
		default:
			out = append(out, p.missingIn(namespace))
		}
	}
	refused, err := c.refused(ctx, unclear, namespace)
	return append(out, refused...), err
}

// refused asks for each permission by itself.
func (c *connection) refused(ctx context.Context, needs []Permission, namespace string) ([]v1alpha1.MissingPermission, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reviewsAtOnce)
	allowed := make([]bool, len(needs))
	for i, p := range needs {
		group.Go(func() error {
			review := &authorizationv1.SelfSubjectAccessReview{}
			resource, sub, _ := strings.Cut(p.Resource, "/")
			review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
				Verb: p.Verb, Group: p.Group, Resource: resource, Subresource: sub, Name: p.Name,
				Namespace: cmp.Or(p.Namespace, namespace),
			}
			if err := c.cluster.GetClient().Create(ctx, review); err != nil {
				return fmt.Errorf("review the access %s %s: %w", p.Verb, p.Resource, err)
			}
			allowed[i] = review.Status.Allowed
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []v1alpha1.MissingPermission
	for i, p := range needs {
		if !allowed[i] {
			out = append(out, p.missingIn(cmp.Or(p.Namespace, namespace)))
		}
	}
	return out, nil
}

func (p Permission) missingIn(namespace string) v1alpha1.MissingPermission {
	return v1alpha1.MissingPermission{Verb: p.Verb, Group: p.Group, Resource: p.Resource, Namespace: namespace}
}

func (p Permission) grantedBy(rule authorizationv1.ResourceRule) bool {
	_, sub, _ := strings.Cut(p.Resource, "/")
	names := rule.ResourceNames
	return anyOf(rule.Verbs, p.Verb) && anyOf(rule.APIGroups, p.Group) &&
		(anyOf(rule.Resources, p.Resource) || sub != "" && slices.Contains(rule.Resources, "*/"+sub)) &&
		(len(names) == 0 || p.Name != "" && slices.Contains(names, p.Name))
}

func anyOf(granted []string, one string) bool {
	return slices.Contains(granted, one) || slices.Contains(granted, "*")
}

// scopeOf tells whether the resource has a namespace, and whether it is served at all.
func (s *served) scopeOf(p Permission) (namespaced, ok bool) {
	resource, _, _ := strings.Cut(p.Resource, "/")
	gvk, err := s.mapper.KindFor(schema.GroupVersionResource{Group: p.Group, Resource: resource})
	if err != nil || gvk.Group != p.Group {
		return false, false
	}
	m, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, false
	}
	return m.Scope.Name() == meta.RESTScopeNameNamespace, true
}
