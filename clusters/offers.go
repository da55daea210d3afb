// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// precedence is the order in which sources win a name that several of them offer.
var precedence = []v1alpha1.TargetClusterSource{v1alpha1.TargetClusterSourceSecret, v1alpha1.TargetClusterSourceClusterAPI}

func (r *Registry) offer(from v1alpha1.TargetClusterSource, o offer) {
	r.mu.Lock()
	if r.offers[o.name] == nil {
		r.offers[o.name] = map[v1alpha1.TargetClusterSource]offer{}
	}
	r.offers[o.name][from] = o
	r.mu.Unlock()
	r.settle(o.name)
}

func (r *Registry) withdraw(from v1alpha1.TargetClusterSource, name string) {
	r.mu.Lock()
	delete(r.offers[name], from)
	if len(r.offers[name]) == 0 {
		delete(r.offers, name)
	}
	r.mu.Unlock()
	r.settle(name)
}

func (r *Registry) complete(from v1alpha1.TargetClusterSource) {
	r.mu.Lock()
	delete(r.missing, from)
	var waiters sets.Set[string]
	if len(r.missing) == 0 {
		waiters, r.waiters = r.waiters, sets.New[string]()
		for name := range r.members {
			waiters.Delete(name) // it has told, and tells, for itself
		}
	}
	r.mu.Unlock()
	for name := range waiters {
		r.bus.changedCluster(name)
	}
}

// graceOver has those who wait for the registrations told that they are not read yet: what does not come in the time that
// a start takes may not come at all, and is not to be kept quiet about.
func (r *Registry) graceOver() {
	r.mu.RLock()
	missing := slices.Sorted(maps.Keys(r.missing))
	waiters := sets.List(r.waiters)
	r.mu.RUnlock()
	if len(missing) > 0 {
		r.opts.Logger.Info("Registrations are not read yet; no cluster is called unregistered meanwhile", "sources", missing)
	}
	for _, name := range waiters {
		r.bus.changedCluster(name)
	}
}

// settle brings the member of a name in line with what is offered for it. Sources run side by side, and two may settle
// the same name at once: each looks at all offers, so that the last one to look leaves the right result.
func (r *Registry) settle(name string) {
	r.settling.Lock()
	defer r.settling.Unlock()
	r.mu.RLock()
	winner, losers := pick(r.offers[name])
	r.mu.RUnlock()
	if winner == nil {
		r.remove(name)
		return
	}
	a := r.decide(*winner, losers)

	r.mu.Lock()
	if r.life == nil || r.life.Err() != nil {
		r.mu.Unlock()
		return
	}
	m, known := r.members[name]
	var old *admitted
	if known {
		if old = m.reg.Load(); old.same(a) {
			r.mu.Unlock()
			return
		}
	} else {
		m = newMember(r, name, a, r.ended[name])
		delete(r.ended, name)
		r.members[name] = m
	}
	life := r.life
	r.mu.Unlock()

	if known {
		m.update(a)
		if old.source != a.source {
			r.metrics.setUp(name, a.source, m.st.Load().phase == phaseConnected)
		}
	} else {
		var ctx context.Context
		ctx, m.stop = context.WithCancel(life)
		r.metrics.setUp(name, a.source, false)
		r.running.Go(func() { m.run(ctx) })
	}
	r.announceDecision(old, a, losers)
	m.moved()
}

func pick(offers map[v1alpha1.TargetClusterSource]offer) (*sourced, []sourced) {
	var all []sourced
	for _, from := range precedence {
		if o, ok := offers[from]; ok {
			all = append(all, sourced{from, o})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return &all[0], all[1:]
}

type sourced struct {
	from v1alpha1.TargetClusterSource
	offer
}

func (r *Registry) decide(s sourced, losers []sourced) *admitted {
	a := &admitted{source: s.from, ref: s.ref}
	a.reg, a.refused = admit(s.data, admitOptions{AllowInsecure: r.opts.AllowInsecure, AllowLocal: r.opts.AllowLocal})
	for _, loser := range losers {
		a.conflict = fmt.Sprintf("%s %s/%s", loser.ref.Kind, loser.ref.Namespace, loser.ref.Name)
	}
	return a
}

// announceDecision records the events of a decision that differs from the last one.
func (r *Registry) announceDecision(old, a *admitted, losers []sourced) {
	if a.refused != nil && (old == nil || old.refused == nil || *old.refused != *a.refused || old.ref.UID != a.ref.UID) {
		r.events.eventf(a.ref, corev1.EventTypeWarning, eventRefused, a.refused.Reason, "%s", a.refused)
		r.log(a.ref.Name).Info("The registration is refused", "reason", a.refused.Reason, "field", a.refused.Field)
	}
	if a.conflict != "" && (old == nil || old.conflict != a.conflict) {
		for _, loser := range losers {
			r.events.eventf(loser.ref, corev1.EventTypeWarning, eventRefused, "NameTaken", "The %s registers a cluster of the same name and wins", a.registration())
		}
	}
}

// remove ends the member of a name that nobody registers any more.
func (r *Registry) remove(name string) {
	r.mu.Lock()
	m, ok := r.members[name]
	if !ok {
		r.mu.Unlock()
		return
	}
	delete(r.members, name)
	r.ended[name] = m.done
	r.mu.Unlock()

	m.stop()
	if m.st.Load().seenNow() != nil { // it was connected once
		r.events.eventf(m.reg.Load().ref, corev1.EventTypeNormal, eventDisconnected, "Deregistered", "The cluster is not registered any more")
	}
	r.running.Go(func() {
		<-m.done
		// Its goroutine has ended: nothing makes the series anew, unless the name was registered again.
		r.mu.Lock()
		if r.ended[name] == m.done {
			delete(r.ended, name)
		}
		_, again := r.members[name]
		if !again {
			r.metrics.forget(name)
		}
		r.mu.Unlock()
		if !again && r.opts.Forgotten != nil {
			r.opts.Forgotten(name)
		}
	})
	m.moved()
}
