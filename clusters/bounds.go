// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// pageCost is what a page of a list counts for at least, in bytes: pages without content come to an end too. A page of
	// the size that is asked for weighs more.
	pageCost = 128 << 10
	// watchBurst is how many watches an informer opens as fast as they end; it opens one a second after that. A reflector
	// opens the next at once when one ended that had brought something.
	watchBurst = 10
)

// callBounds are the bounds on the calls of the informers of one cluster.
type callBounds struct {
	intake *intake
	// list bounds one list, over all its pages.
	list time.Duration
}

// boundedCalls bounds the calls of one informer. A nil one bounds nothing.
type boundedCalls struct {
	callBounds
	watches flowcontrol.RateLimiter

	mu    sync.Mutex // guards the fields below; never held across a call
	began time.Time  // when the list that is being read was begun
	taken int64      // what its pages count for
	round int        // of what is being read; one that is over counts no more
}

func (b *callBounds) forInformer() *boundedCalls {
	if b == nil {
		return nil
	}
	return &boundedCalls{callBounds: *b, watches: flowcontrol.NewTokenBucketRateLimiter(1, watchBurst)}
}

// list bounds a list over all its pages. A reflector puts them together before anybody sees the first, and asks for
// another one for as long as the cluster names one.
func (b *boundedCalls) list(call toolscache.ListWithContextFunc) toolscache.ListWithContextFunc {
	if b == nil {
		return call
	}
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		if opts.Continue == "" {
			b.begin()
		}
		out, err := call(ctx, opts)
		if err == nil {
			err = b.page(ctx, out)
		}
		if err != nil {
			b.end()
			return nil, err
		}
		return out, nil
	}
}

// begin answers the round that begins.
func (b *boundedCalls) begin() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over()
	b.began = time.Now()
	return b.round
}

// page counts a page that another one follows.
func (b *boundedCalls) page(ctx context.Context, list runtime.Object) error {
	m, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("a page that is no list: %w", err)
	}
	if m.GetContinue() == "" {
		b.end() // from here on its objects are those that are kept
		return nil
	}
	n := max(weighList(list), pageCost)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err // the informer has ended, and with it the count
	}
	if time.Since(b.began) > b.callBounds.list {
		return fmt.Errorf("the pages of its list come to no end within %s: %w", b.callBounds.list, errDeadline)
	}
	b.taken += n
	return b.intake.page(n)
}

// first bounds the events that a watch begins with, which a reflector puts together like a list, up to the bookmark that
// says there are no more.
func (b *boundedCalls) first(w watch.Interface) watch.Interface {
	if b == nil {
		return w
	}
	round := b.begin()
	over, refused := false, false
	return watch.Filter(w, func(ev watch.Event) (watch.Event, bool) {
		switch {
		case refused:
			return ev, false
		case over:
		case ev.Type == watch.Added, ev.Type == watch.Modified:
			if err := b.event(round, weigh(ev.Object)); err != nil {
				refused = true
				ev = watch.Event{Type: watch.Error, Object: &metav1.Status{
					Status: metav1.StatusFailure, Reason: metav1.StatusReasonUnknown, Message: err.Error(),
				}}
			}
		case ev.Type == watch.Bookmark:
			if m, err := meta.Accessor(ev.Object); err == nil && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				over = true
				b.endOf(round) // from here on its objects are those that are kept
			}
		}
		return ev, true
	})
}

// event counts an event of a watch. One that was stopped is read to its end, and has none that count.
func (b *boundedCalls) event(round int, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if round != b.round {
		return nil
	}
	b.taken += n
	return b.intake.page(n)
}

// end says that nothing is being read any further.
func (b *boundedCalls) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over()
}

// endOf is end, unless another round began meanwhile.
func (b *boundedCalls) endOf(round int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if round == b.round {
		b.over()
	}
}

func (b *boundedCalls) over() { // under mu
	b.intake.pages.Add(-b.taken)
	b.taken = 0
	b.round++
}

// watch bounds how often watches are opened.
func (b *boundedCalls) watch(call toolscache.WatchFuncWithContext) toolscache.WatchFuncWithContext {
	if b == nil {
		return call
	}
	return func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
		if err := b.watches.Wait(ctx); err != nil {
			return nil, err
		}
		return call(ctx, opts)
	}
}

// weighList is about what the objects of a list take in memory.
func weighList(list runtime.Object) int64 {
	sum := int64(0)
	// What is no list weighs nothing, and was told so before.
	_ = meta.EachListItem(list, func(obj runtime.Object) error {
		sum += weigh(obj)
		return nil
	})
	return sum
}
