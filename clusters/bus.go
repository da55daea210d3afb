// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
)

type queue = workqueue.TypedRateLimitingInterface[mcreconcile.Request]

// bus hands events to the queues of the controllers that asked for them.
type bus struct {
	mu      sync.Mutex // guards the fields below; never held while a listener runs
	next    int
	objects map[int]func(Event)
	changes map[int]func(string)
	changed sets.Set[string]

	// kick wakes run; one pending wake-up is enough.
	kick chan struct{}
}

func newBus() *bus {
	return &bus{
		objects: map[int]func(Event){},
		changes: map[int]func(string){},
		changed: sets.New[string](),
		kick:    make(chan struct{}, 1),
	}
}

// run delivers changes until ctx ends. Members only note that they changed: the listeners list custom resources, and a
// member must not wait for that between two probes.
func (b *bus) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.kick:
		}
		b.mu.Lock()
		names := sets.List(b.changed)
		b.changed = sets.New[string]()
		listeners := values(b.changes)
		b.mu.Unlock()
		for _, name := range names {
			for _, listener := range listeners {
				listener(name)
			}
		}
	}
}

// changedCluster notes that what Resolve answers for the cluster may differ from now on.
func (b *bus) changedCluster(name string) {
	b.mu.Lock()
	b.changed.Insert(name)
	b.mu.Unlock()
	poke(b.kick)
}

// object runs on the goroutine of an informer's handler and keeps the order of its events.
func (b *bus) object(ev Event) {
	b.mu.Lock()
	listeners := values(b.objects)
	b.mu.Unlock()
	for _, listener := range listeners {
		listener(ev)
	}
}

func values[T any](m map[int]T) []T {
	out := make([]T, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// Changes is a source of the requests that mapFn answers for the name of a cluster, whenever Resolve may answer
// differently for it than before: it connected, was lost, was registered, refused or deregistered, its allowed
// namespaces changed, or it serves other kinds. The name is empty for the hub. mapFn has to answer from a cache.
func (r *Registry) Changes(mapFn func(ctx context.Context, cluster string) []reconcile.Request) source.TypedSource[mcreconcile.Request] {
	return source.TypedFunc[mcreconcile.Request](func(ctx context.Context, q queue) error {
		listen(ctx, r.bus, r.bus.changes, func(name string) { enqueue(q, mapFn(ctx, name)) })
		return nil
	})
}

// Objects is a source of the requests that mapFn answers for a changed child or input on the hub or any target. mapFn
// has to answer from a cache.
//
// Both sources keep the controller's queue and put into it requests with the empty cluster name: the requests are for
// custom resources, and those live on the hub.
func (r *Registry) Objects(mapFn func(ctx context.Context, ev Event) []reconcile.Request) source.TypedSource[mcreconcile.Request] {
	return source.TypedFunc[mcreconcile.Request](func(ctx context.Context, q queue) error {
		listen(ctx, r.bus, r.bus.objects, func(ev Event) { enqueue(q, mapFn(ctx, ev)) })
		return nil
	})
}

func listen[T any](ctx context.Context, b *bus, to map[int]func(T), f func(T)) {
	b.mu.Lock()
	id := b.next
	b.next++
	to[id] = f
	b.mu.Unlock()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		delete(to, id)
		b.mu.Unlock()
	})
}

func enqueue(q queue, reqs []reconcile.Request) {
	for _, req := range reqs {
		q.Add(mcreconcile.Request{Request: req})
	}
}
