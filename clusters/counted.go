// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"sync/atomic"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
)

// countedInformer is counted while it runs: a cache of several namespaces does not wait for its informers when it ends.
// Nor does it stop to wait for their synchronisation: whoever waits here is let go when the informer has ended.
type countedInformer struct {
	toolscache.SharedIndexInformer
	health *watchHealth
	self   *informerHealth
	ended  chan struct{} // closed when the informer has run
	// weighed: a handler counts the size of what is held.
	weighed atomic.Bool
}

// RunWithContext is part of cache.SharedIndexInformer. An informer runs once.
func (i *countedInformer) RunWithContext(ctx context.Context) {
	h := i.health
	h.running.add(1)
	defer h.running.add(-1)
	defer close(i.ended)
	defer i.self.bounded.end()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.informers, i.self)
	}()
	i.SharedIndexInformer.RunWithContext(ctx)
}

// HasSyncedChecker is part of cache.SharedIndexInformer.
func (i *countedInformer) HasSyncedChecker() toolscache.DoneChecker {
	return i.untilEnd(i.SharedIndexInformer.HasSyncedChecker())
}

// AddEventHandler is part of cache.SharedIndexInformer.
func (i *countedInformer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.wrap(i.SharedIndexInformer.AddEventHandler(i.weighing(handler)))
}

// AddEventHandlerWithResyncPeriod is part of cache.SharedIndexInformer.
func (i *countedInformer) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, resync time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.wrap(i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(i.weighing(handler), resync))
}

// AddEventHandlerWithOptions is part of cache.SharedIndexInformer.
func (i *countedInformer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.wrap(i.SharedIndexInformer.AddEventHandlerWithOptions(i.weighing(handler), options))
}

// RemoveEventHandler is part of cache.SharedIndexInformer.
func (i *countedInformer) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	if ours, ok := handle.(*endingRegistration); ok {
		handle = ours.ResourceEventHandlerRegistration
	}
	return i.SharedIndexInformer.RemoveEventHandler(handle)
}

// weighing has the first handler of an informer count the size of what it is told of.
func (i *countedInformer) weighing(handler toolscache.ResourceEventHandler) toolscache.ResourceEventHandler {
	if i.health.grown == nil || i.weighed.Swap(true) {
		return handler
	}
	return &weighingHandler{handler, &i.self.bytes, i.health.grown}
}

func (i *countedInformer) wrap(handle toolscache.ResourceEventHandlerRegistration, err error) (toolscache.ResourceEventHandlerRegistration, error) {
	if err != nil {
		return nil, err
	}
	return &endingRegistration{handle, i}, nil
}

type endingRegistration struct {
	toolscache.ResourceEventHandlerRegistration
	of *countedInformer
}

// HasSyncedChecker is part of cache.ResourceEventHandlerRegistration.
func (r *endingRegistration) HasSyncedChecker() toolscache.DoneChecker {
	return r.of.untilEnd(r.ResourceEventHandlerRegistration.HasSyncedChecker())
}

// endingChecker is done when it has synchronised, or the informer has ended.
type endingChecker struct {
	toolscache.DoneChecker
	done chan struct{}
}

func (i *countedInformer) untilEnd(synced toolscache.DoneChecker) toolscache.DoneChecker {
	c := &endingChecker{synced, make(chan struct{})}
	go func() {
		defer close(c.done)
		select {
		case <-synced.Done():
		case <-i.ended:
		}
	}()
	return c
}

// Done is part of cache.DoneChecker.
func (c *endingChecker) Done() <-chan struct{} { return c.done }
