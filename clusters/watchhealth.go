// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

var errThrottled = errors.New("too many requests")

// kindKey tells the two informers of a kind apart: of whole objects and of metadata.
type kindKey struct {
	gvk      schema.GroupVersionKind
	metadata bool
}

// watchHealth knows, per informer, whether its last list or watch call failed. A reflector tells nobody but its log,
// reports itself synced for ever after, and may pause for half a minute before it tries again.
type watchHealth struct {
	scheme *runtime.Scheme
	// grown is told when an informer holds more than before, and has the size of what is held counted; nil for the hub's,
	// which are not weighed. Set before the first informer is made.
	grown func()
	// bounds are those on the calls of each informer, nil for the hub's. Set before the first informer is made.
	bounds *callBounds

	mu        sync.Mutex // guards the fields below; never held across a call
	informers map[*informerHealth]struct{}
	onError   func(kindKey, error)

	// running counts the informers that run and the watches that were stopped and not read to their end yet.
	running tally
}

type informerHealth struct {
	key   kindKey
	err   error
	store toolscache.Store
	// bytes is the size of what the informer holds, as far as its first handler was told.
	bytes atomic.Int64
	// bounded are the informer's calls, nil for one of the hub's.
	bounded *boundedCalls
}

func newWatchHealth(scheme *runtime.Scheme) *watchHealth {
	return &watchHealth{scheme: scheme, informers: map[*informerHealth]struct{}{}}
}

func (h *watchHealth) keyOf(obj runtime.Object) kindKey {
	// An object without a kind cannot get here: the cache asked for its kind before.
	gvk, _ := apiutil.GVKForObject(obj, h.scheme)
	switch obj.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return kindKey{gvk, true}
	}
	return kindKey{gvk, false}
}

// setOnError sets what is told of every failed list or watch call.
func (h *watchHealth) setOnError(f func(kindKey, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onError = f
}

func (h *watchHealth) observe(i *informerHealth, err error) {
	h.mu.Lock()
	i.err = err
	onError := h.onError
	h.mu.Unlock()
	if err != nil && onError != nil {
		onError(i.key, err)
	}
}

// errorOf returns the error of the kind's last call: of any namespace, where there is an informer for each.
func (h *watchHealth) errorOf(key kindKey) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.informers {
		if i.key == key && i.err != nil {
			return i.err
		}
	}
	return nil
}

// broken tells whether any informer's last call failed.
func (h *watchHealth) broken() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.informers {
		if i.err != nil {
			return true
		}
	}
	return false
}

// held counts the objects that are held, by kind; of a kind that is watched as metadata, under the kind's name with
// "Metadata" behind it.
func (h *watchHealth) held() map[string]int {
	h.mu.Lock()
	stores := map[string][]toolscache.Store{}
	for i := range h.informers {
		kind := i.key.gvk.Kind
		if i.key.metadata {
			kind += "Metadata"
		}
		stores[kind] = append(stores[kind], i.store)
	}
	h.mu.Unlock()
	out := map[string]int{}
	for kind, of := range stores {
		for _, store := range of {
			out[kind] += len(store.ListKeys())
		}
	}
	return out
}

// weight is the size of what is held, in bytes.
func (h *watchHealth) weight() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := int64(0)
	for i := range h.informers {
		sum += i.bytes.Load()
	}
	return sum
}

func (h *watchHealth) forget(obj runtime.Object) {
	key := h.keyOf(obj)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.informers {
		if i.key == key {
			delete(h.informers, i)
		}
	}
}

// newInformer is a cache's NewInformer: it observes and bounds the informer's calls and drains the watches it stops.
func (h *watchHealth) newInformer(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	i := &informerHealth{key: h.keyOf(obj), bounded: h.bounds.forInformer()}
	if calls, ok := lw.(*toolscache.ListWatch); ok {
		list, open := i.bounded.list(calls.ListWithContextFunc), i.bounded.watch(calls.WatchFuncWithContext)
		calls.ListWithContextFunc = func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			out, err := list(ctx, opts)
			if ctx.Err() == nil {
				h.observe(i, err)
			}
			return out, err
		}
		calls.WatchFuncWithContext = func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := open(ctx, opts)
			if ctx.Err() == nil {
				h.observe(i, err)
			}
			deaf := opts.SendInitialEvents != nil && *opts.SendInitialEvents
			if err != nil {
				if deaf {
					err = withoutThrottle(err)
				}
				return nil, err
			}
			if deaf {
				w = i.bounded.first(watch.Filter(w, unthrottled))
			}
			return &drainedWatch{Interface: w, running: &h.running}, nil
		}
	}
	informer := toolscache.NewSharedIndexInformer(lw, obj, resync, indexers)
	i.store = informer.GetStore()
	h.mu.Lock()
	h.informers[i] = struct{}{}
	h.mu.Unlock()
	return &countedInformer{SharedIndexInformer: informer, health: h, self: i, ended: make(chan struct{})}
}

// withoutThrottle hides from client-go that a cluster wants fewer requests. A reflector that is told so of a watch which
// begins with what there is sleeps for up to a minute where no context can wake it, and would hold the end of its
// connection, and of the process, for as long. Where it is told of another watch it can be woken, and goes on with that.
func withoutThrottle(err error) error {
	if apierrors.IsTooManyRequests(err) {
		return fmt.Errorf("%w: %s", errThrottled, err.Error())
	}
	return err
}

// unthrottled is withoutThrottle for the error that a watch ends with.
func unthrottled(ev watch.Event) (watch.Event, bool) {
	if ev.Type != watch.Error {
		return ev, true
	}
	if err := apierrors.FromObject(ev.Object); apierrors.IsTooManyRequests(err) {
		ev.Object = &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonUnknown, Message: withoutThrottle(err).Error()}
	}
	return ev, true
}

// tally counts what runs. Unlike a sync.WaitGroup it may be added to while somebody waits.
type tally struct {
	mu   sync.Mutex // guards the fields below
	n    int
	zero chan struct{} // closed when n becomes 0; nil while nobody waits
}

func (t *tally) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += n
	if t.n == 0 && t.zero != nil {
		close(t.zero)
		t.zero = nil
	}
}

func (t *tally) wait() {
	t.mu.Lock()
	if t.n == 0 {
		t.mu.Unlock()
		return
	}
	if t.zero == nil {
		t.zero = make(chan struct{})
	}
	zero := t.zero
	t.mu.Unlock()
	<-zero
}

// drainedWatch reads a stopped watch to its end. A metadata watch is filtered on a goroutine that would otherwise wait
// for ever to hand over its last event, and keep the connection below it open.
type drainedWatch struct {
	watch.Interface
	running *tally
	once    sync.Once
}

// Stop is part of watch.Interface.
func (w *drainedWatch) Stop() {
	w.Interface.Stop()
	w.once.Do(func() {
		w.running.add(1)
		go func() {
			defer w.running.add(-1)
			for range w.ResultChan() {
			}
		}()
	})
}
