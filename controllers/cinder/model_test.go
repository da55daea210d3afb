// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

// The model is one Cinder, one registered name, and two clusters that may stand
// behind it. What decides in it is the reconciler's own code; what is modelled is
// the world around: the registry's answers, which objects exist where, and what
// the API server stores.

type place uint8

const (
	nowhere place = iota
	clusterA
	clusterB
)

func (p place) uid() types.UID { return types.UID([]string{"", "uid-a", "uid-b"}[p]) }

func placeOf(uid string) place {
	return map[string]place{"": nowhere, "uid-a": clusterA, "uid-b": clusterB}[uid]
}

// standing is how a registered cluster answers.
type standing uint8

const (
	answers standing = iota
	refusedNow
	unlisted
	lost
)

const (
	modelName = "edge"
	// A tick is half of the window: two of them make it run out.
	window = 2 * tick
	tick   = time.Minute
	never  = -1
	ripe   = 2
)

// world is a state of the model. It is comparable: a state that was met before
// leads nowhere new.
type world struct {
	registered place
	standing   standing
	starting   bool // the operator's first attempt to connect has not ended
	unseen     bool // registered, and no pass has run since

	// The Cinder, as it is stored.
	deleted, gone, finalizers, givenUp bool
	pinned, accepted                   place

	// children are where they exist, told where somebody was told that they stay.
	children, told [3]bool

	// The ages, in ticks, up to ripe: of the deletion, of what the process
	// remembers as missing, and of what is really so since it started.
	deletedFor, missingFor, reallyFor int8
}

func start() world { return world{missingFor: never, reallyFor: never} }

var errModelStart = &clusters.UnavailableError{Cluster: modelName, Cause: clusters.CauseStarting, Message: "starting"}

// registryOf answers as the registry would in a state of the world.
type registryOf struct {
	Registry
	w *world
}

// modelTarget is a connected cluster.
type modelTarget struct {
	clusters.Target
	at place
}

func (m modelTarget) Name() string   { return modelName }
func (m modelTarget) UID() types.UID { return m.at.uid() }
func (m modelTarget) IsHub() bool    { return false }

func (r registryOf) answer(deletion bool) (clusters.Target, error) {
	fail := func(cause clusters.UnavailableCause) (clusters.Target, error) {
		return nil, &clusters.UnavailableError{Cluster: modelName, Cause: cause, Message: fmt.Sprintf("target cluster %q: %s", modelName, cause)}
	}
	switch {
	case r.w.starting:
		return nil, errModelStart
	case r.w.registered == nowhere:
		return fail(clusters.CauseNotRegistered)
	case r.w.standing == refusedNow:
		return fail(clusters.CauseRefused)
	case r.w.standing == unlisted:
		return fail(clusters.CauseNamespaceNotServed)
	case r.w.standing == lost:
		return fail(clusters.CauseUnreachable)
	}
	return modelTarget{at: r.w.registered}, nil
}

func (r registryOf) Resolve(context.Context, *v1alpha1.TargetClusterRefSpec, string) (clusters.Target, error) {
	return r.answer(false)
}

func (r registryOf) ResolveForDeletion(context.Context, *v1alpha1.TargetClusterRefSpec, string) (clusters.Target, error) {
	return r.answer(true)
}

var modelNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func ago(ticks int8) time.Time { return modelNow.Add(-time.Duration(ticks) * tick) }

// cinder is the stored Cinder of a state.
func (w *world) cinder() *v1alpha1.Cinder {
	cr := &v1alpha1.Cinder{ObjectMeta: metav1.ObjectMeta{Name: "cinder", Namespace: "openstack", Annotations: map[string]string{}}}
	cr.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: modelName}
	if w.deleted {
		at := metav1.NewTime(ago(w.deletedFor))
		cr.DeletionTimestamp = &at
	}
	if w.givenUp {
		cr.Annotations[v1alpha1.AnnotationAbandonChildren] = "true"
	}
	if w.accepted != nowhere {
		cr.Annotations[v1alpha1.AnnotationAcceptCluster] = string(w.accepted.uid())
	}
	if w.pinned != nowhere {
		cr.Status.TargetCluster = &v1alpha1.TargetClusterStatusRef{Name: modelName, UID: string(w.pinned.uid())}
	}
	return cr
}

// pass is one pass of the reconciler over the world. A pass that is killed dies
// before it stores the status. It returns what the pass says in SecretsReady.
func (w *world) pass(killed bool) (said string, broken error) {
	if w.gone {
		return "", nil
	}
	cr := w.cinder()
	r := &Reconciler{
		Deps: Deps{Registry: registryOf{w: w}, AbandonAfter: window}, missing: newMissingSince(), now: func() time.Time { return modelNow },
		backupTargets: func(context.Context, *v1alpha1.Cinder) []string { return nil },
	}
	if w.missingFor != never {
		r.missing.note(modelName, ago(w.missingFor))
	}
	if w.unseen = false; w.registered != nowhere {
		w.reallyFor = never
	}
	target, err := r.resolve(context.Background(), cr)
	w.missingFor = never
	if _, ok := r.missing.since[modelName]; ok {
		w.missingFor = int8(r.missing.age(modelName, modelNow) / tick)
	}
	if isStarting(err) {
		return "", nil
	}
	p := &Pass{Cinder: cr, Target: target, events: &eventBuffer{}}
	if w.deleted {
		return w.deletion(r, p, err, killed)
	}
	if err != nil {
		u, ok := clusters.AsUnavailable(err)
		if !ok || !strings.HasPrefix(u.Message, `target cluster "edge"`) {
			return "", fmt.Errorf("a living Cinder that is not served says: %w", err)
		}
		return u.Message, nil
	}
	if !w.finalizers {
		w.finalizers = true // a write of its own, before the pass ends
		return "", nil
	}
	if r.acceptCluster(context.Background(), p) || p.pin() {
		if !killed {
			w.store(p)
		}
		return "", nil
	}
	here := target.(modelTarget).at //nolint:forcetypeassert // the model makes no other
	w.children[here], w.told[here] = true, false
	return "", nil
}

// store is the status write at the end of a pass, and the events after it.
func (w *world) store(p *Pass) {
	for range p.events.list {
		w.told[w.pinned] = true
	}
	w.pinned = placeOf(p.Cinder.Status.TargetCluster.UID)
	w.told[w.pinned] = false
}

func (w *world) deletion(r *Reconciler, p *Pass, err error, killed bool) (said string, broken error) {
	before := *w
	if err == nil {
		w.children[w.registered] = false
		if killed {
			return "", nil // between the sweep and the finalizers
		}
	}
	v := judge(r.plightOf(p, err))
	if !v.release {
		if err == nil || !strings.Contains(v.message, err.Error()) || !strings.Contains(v.message, v1alpha1.AnnotationAbandonChildren+"=true") {
			return "", fmt.Errorf("a deleted Cinder that is held says %q of: %w", v.message, err)
		}
		return v.message, nil
	}
	byPolicy := before.registered == nowhere && before.deletedFor >= ripe && before.reallyFor >= ripe
	byAccept := err == nil && before.accepted == before.registered
	if v.left != "" && !byPolicy && !byAccept && !before.givenUp {
		return "", fmt.Errorf("children are given up on %s without a reason", v.left)
	}
	if v.left == "" && err != nil {
		return "", fmt.Errorf("released without a sweep and without a word: %w", err)
	}
	w.gone, w.finalizers = true, false
	if v.left != "" && w.pinned != nowhere {
		w.told[w.pinned] = true
	}
	return "", nil
}

// check is what holds in every state.
func (w *world) check() error {
	for _, at := range []place{clusterA, clusterB} {
		switch {
		case !w.children[at]:
		case w.gone && !w.told[at]:
			return fmt.Errorf("the Cinder is gone, and nobody was told of its children on %s", at.uid())
		case w.pinned != at && !w.told[at]:
			return fmt.Errorf("the Cinder does not know its children on %s any more, and nobody was told", at.uid())
		case !w.gone && !w.finalizers:
			return fmt.Errorf("nothing holds the Cinder although it has children on %s", at.uid())
		}
	}
	return nil
}
