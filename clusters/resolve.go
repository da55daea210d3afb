// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"maps"
	"slices"
	"time"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Resolve answers the cluster that ref names, the hub for a nil ref, to a custom resource in the hub's namespace. It
// answers from what is known and never calls. Every error is an *UnavailableError.
func (r *Registry) Resolve(_ context.Context, ref *v1alpha1.TargetClusterRefSpec, hubNamespace string) (Target, error) {
	return r.resolve(ref, hubNamespace, false)
}

// ResolveForDeletion is Resolve without asking whether the registration admits the namespace: what was allowed to be
// created has to be removable.
func (r *Registry) ResolveForDeletion(_ context.Context, ref *v1alpha1.TargetClusterRefSpec, hubNamespace string) (Target, error) {
	return r.resolve(ref, hubNamespace, true)
}

func (r *Registry) resolve(ref *v1alpha1.TargetClusterRefSpec, hubNamespace string, deletion bool) (Target, error) {
	if ref == nil {
		return r.resolveHub()
	}
	name := ref.Name
	m, unread := r.lookup(name)
	if m == nil {
		if unread {
			// Taking an unread registration for an absent one would have children abandoned.
			return nil, unreadRegistrations(name, r.waitsFor(name))
		}
		return nil, notRegistered(name, r.opts.ClustersNamespace)
	}

	a, st := m.reg.Load(), m.st.Load()
	switch {
	case a.refused != nil:
		return nil, refused(name, a.refused, a.registration())
	case !deletion && !a.reg.Allows(hubNamespace, r.opts.RequireAllowedNamespaces):
		return nil, notPermitted(name, hubNamespace, a.registration())
	case !a.reg.Covers(hubNamespace):
		return nil, namespaceNotServed(name, hubNamespace, a.registration(), a.reg.Namespaces)
	case st.phase == phaseConnecting:
		cause := CauseConnecting
		if m.starting() {
			cause = CauseStarting
		}
		return nil, connecting(name, cause, "waiting for "+a.reg.Host(), nil)
	case st.conn == nil:
		cause := CauseUnreachable
		if st.phase == phaseUnauthorized {
			cause = CauseUnauthorized
		}
		return nil, unavailable(name, cause, &loss{since: st.since, cause: st.cause, remedy: st.remedy}, nil)
	case !st.conn.reg.Covers(hubNamespace):
		// The namespace was listed a moment ago: the connection whose caches know it is still being made.
		return nil, connecting(name, CauseConnecting, "waiting for "+a.reg.Host(), nil)
	}
	if l := st.conn.lost.Load(); l != nil && l.silent {
		return nil, unavailable(name, CauseUnreachable, l, errDeadline)
	}
	if st.conn.silence.now() {
		return nil, st.conn.silent(errSilent)
	}
	return st.conn, nil
}

// lookup answers the member of a name, or nil, and whether there are registrations that were not read yet.
func (r *Registry) lookup(name string) (*member, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.members[name], len(r.missing) > 0
}

func (r *Registry) names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.members))
}

// waitsFor notes that somebody was told to wait until the registrations are read: should the name turn out to be
// unregistered, no member will ever tell them. The answer is CauseStarting until the grace of the start is over, and then
// CauseConnecting, which is told once more.
func (r *Registry) waitsFor(name string) UnavailableCause {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.missing) > 0 {
		r.waiters.Insert(name)
	} else {
		r.bus.changedCluster(name) // they were read a moment ago
	}
	if r.grace.IsZero() || time.Now().Before(r.grace) {
		return CauseStarting
	}
	return CauseConnecting
}

func (r *Registry) resolveHub() (Target, error) {
	h := r.theHub()
	if h == nil {
		return nil, &UnavailableError{Cause: CauseStarting, Message: errNoHub.Error(), Err: errNoHub}
	}
	if !h.ready.Load() {
		return nil, &UnavailableError{Cause: CauseStarting, Message: "the hub's caches are being filled: this is over by itself shortly after the start"}
	}
	return h, nil
}
