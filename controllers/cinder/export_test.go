// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

// EnsureJob makes the Job of an intent exist; nil says that the old one is still
// there.
var EnsureJob = ensureJob

// HoldsBackDetach tells whether a pass over cr, a copy that may be old, would make no Job for a backend.
func HoldsBackDetach(ctx context.Context, live client.Reader, cr *v1alpha1.Cinder) (bool, error) {
	return old((&Reconciler{live: live}).notLeaving(ctx, cr))
}

// Detach moves a backend on as a pass over b does, a copy that may be old, and tells whether it was.
func Detach(ctx context.Context, hub client.Client, recorder events.EventRecorder, p *Pass, b *v1alpha1.CinderBackend) (bool, error) {
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		return false, err
	}
	r := &Reconciler{Deps: Deps{Recorder: recorder}, hub: hub, live: hub, metrics: m, deferred: newDeferrals()}
	_, _, err = r.detachBackend(ctx, p, b)
	return old(err)
}

// old tells whether an error says no more than that a copy was old.
func old(err error) (bool, error) {
	var stale *staleError
	if errors.As(err, &stale) {
		return true, nil
	}
	return false, err
}

// AddIndexes registers the field indexes with a cache.
var AddIndexes = addIndexes

// CindersOfObject maps an event to the Cinders that hub knows.
func CindersOfObject(ctx context.Context, hub client.Client, ev clusters.Event) []reconcile.Request {
	return (&Reconciler{hub: hub, bus: newBusMemory()}).cindersOfObject(ctx, ev)
}
