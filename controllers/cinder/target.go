// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

// causeAnotherCluster is the cause of a name behind which another cluster stands
// than the one that holds the children.
const causeAnotherCluster clusters.UnavailableCause = "AnotherCluster"

// resolve finds the cluster of a Cinder's children. A deleted Cinder may reach
// its children whatever the registration now says of namespaces.
func (r *Reconciler) resolve(ctx context.Context, cr *v1alpha1.Cinder) (clusters.Target, error) {
	ref := cr.Spec.TargetClusterRef
	ask := r.Registry.Resolve
	if !cr.DeletionTimestamp.IsZero() {
		ask = r.Registry.ResolveForDeletion
	}
	target, err := ask(ctx, ref, cr.Namespace)
	switch {
	case ref == nil:
	case isNotRegistered(err):
		r.missing.note(ref.Name, r.now())
	default:
		// Whatever else is wrong with it, it is registered.
		r.missing.forget(ref.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := checkIdentity(cr, target); err != nil {
		return nil, err
	}
	return target, nil
}

// checkIdentity holds a Cinder whose children live on another cluster than the
// one that its reference now leads to: two volume services must never serve one
// host identity because a kubeconfig was mixed up.
func checkIdentity(cr *v1alpha1.Cinder, target clusters.Target) error {
	known := cr.Status.TargetCluster
	if target.IsHub() || known == nil || known.UID == "" || clusters.SameCluster(target, types.UID(known.UID)) {
		return nil
	}
	if cr.Annotations[v1alpha1.AnnotationAcceptCluster] == string(target.UID()) {
		return nil
	}
	remedy := "register the former cluster again"
	if clusters.IsStandIn(target.UID()) {
		// The right may have been taken away from an account of the very cluster that holds the children.
		remedy = "grant its account the right to get the namespace kube-system, without which it cannot be told from others, or " + remedy
	}
	return &clusters.UnavailableError{
		Cluster: target.Name(),
		Cause:   causeAnotherCluster,
		Message: fmt.Sprintf("target cluster %q is another cluster than the one that holds the children: its kube-system UID is %s, the children's is %s; "+
			"%s, or annotate the Cinder with %s=%s to give up the children there",
			target.Name(), target.UID(), known.UID, remedy, v1alpha1.AnnotationAcceptCluster, target.UID()),
	}
}

// formerCluster is the cluster that holds the children when another one stands
// in its place and was accepted; else nil.
func (p *Pass) formerCluster() *v1alpha1.TargetClusterStatusRef {
	known := p.Cinder.Status.TargetCluster
	if p.Target.IsHub() || known == nil || known.UID == "" || clusters.SameCluster(p.Target, types.UID(known.UID)) {
		return nil
	}
	return known
}

// acceptCluster takes over the identity of a cluster that was accepted by
// annotation, and says once what stays behind on the former one. It tells whether
// it did: the pass then ends, for the status has to say so before anything is
// written there.
func (r *Reconciler) acceptCluster(ctx context.Context, p *Pass) bool {
	left := p.formerCluster()
	if left == nil {
		return false
	}
	p.warning(EventRemoteChildrenAbandoned, r.abandoned(ctx, p.Cinder, verdict{left: former(left)}))
	p.pin()
	return true
}

// replaced tells whether another connection to the cluster now serves than the
// one that the pass began with. Resolving asks the registry's memory alone.
func (r *Reconciler) replaced(p *Pass) bool {
	if p.Target == nil || p.Target.IsHub() {
		return false
	}
	now, err := r.resolve(context.Background(), p.Cinder)
	return err == nil && now != p.Target
}

func isStarting(err error) bool { return hasCause(err, clusters.CauseStarting) }

func isNotRegistered(err error) bool { return hasCause(err, clusters.CauseNotRegistered) }

func isAnotherCluster(err error) bool { return hasCause(err, causeAnotherCluster) }

func hasCause(err error, cause clusters.UnavailableCause) bool {
	u, ok := clusters.AsUnavailable(err)
	return ok && u.Cause == cause
}

// missingSince remembers when this process first failed to resolve a name
// because it is not registered.
type missingSince struct {
	mu    sync.Mutex
	since map[string]time.Time
}

func newMissingSince() *missingSince { return &missingSince{since: map[string]time.Time{}} }

// note remembers that a name is missing now, unless it was missing already.
func (m *missingSince) note(name string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.since[name]; !ok {
		m.since[name] = now
	}
}

// age tells for how long a name has been missing; zero for one that is not.
func (m *missingSince) age(name string, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.since[name]
	if !ok {
		return 0
	}
	return now.Sub(at)
}

func (m *missingSince) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.since, name)
}
