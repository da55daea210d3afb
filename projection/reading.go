// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/clusters"
)

// A list has as many pages as the cluster names. What is read at one go, by a
// sweep, a count of orphans or a look at what pods name, is bounded over all
// pages of all kinds: it holds a worker, and what it finds is kept.
const (
	// listPage is how many objects one list call asks for.
	listPage = 500
	// readTimeout is how long reading at one go may take.
	readTimeout = time.Minute
	// readBytes is how much is read at one go, and keptBytes how much of it may
	// be what was looked for.
	readBytes = 256 << 20
	keptBytes = 32 << 20
	// pageCost is what a page counts for at least: those without content come to
	// an end too. One with as many objects as are asked for is larger.
	pageCost = 64 << 10
	// tokenLimit bounds what a page names the next one by; it becomes part of a
	// URL.
	tokenLimit = 8 << 10
)

var (
	// ErrEndless says that a cluster lists more than is read of it at one go.
	ErrEndless = errors.New("the cluster lists more than is read of it at one go")
	// ErrBusy says that another long list of the cluster is being read.
	ErrBusy = errors.New("another long list of the cluster is being read")
)

// reading is what is left of that bound.
type reading struct {
	bytes int64
	// more is asked before a second page is read.
	more func() error
}

// read begins reading at one go. The context ends it in time.
func (p *Projector) read(ctx context.Context) (context.Context, *reading, context.CancelFunc) {
	late := fmt.Errorf("%w: %s have passed", ErrEndless, p.readTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, p.readTimeout, late)
	return ctx, &reading{bytes: readBytes, more: func() error { return nil }}, cancel
}

// readAlone is read for somebody whom others wait for. Of each cluster one list
// of more than a page is read at a time: however long a cluster makes its lists,
// it holds no second worker.
func (p *Projector) readAlone(ctx context.Context, t clusters.Target) (context.Context, *reading, context.CancelFunc) {
	ctx, r, cancel := p.read(ctx)
	holds := false
	r.more = func() error {
		if holds {
			return nil
		}
		if _, busy := p.long.LoadOrStore(t.UID(), true); busy {
			return ErrBusy
		}
		holds = true
		return nil
	}
	return ctx, r, func() {
		if holds {
			p.long.Delete(t.UID())
		}
		cancel()
	}
}

// tooLong words an error for which the time ran out as that: the call that ran
// at the moment names its page, which is another one each time.
func tooLong(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrEndless) {
		return cause
	}
	return err
}

// take counts a page.
func (r *reading) take(page client.ObjectList) error {
	n := int64(pageCost)
	if sized, ok := page.(interface{ Size() int }); ok {
		n = max(n, int64(sized.Size()))
	}
	if r.bytes -= n; r.bytes < 0 {
		return fmt.Errorf("%w, which is %d MiB", ErrEndless, readBytes>>20)
	}
	if len(page.GetContinue()) > tokenLimit {
		return fmt.Errorf("%w: it names the next page in more than %d KiB", ErrEndless, tokenLimit>>10)
	}
	return nil
}

// keeps checks the size of what was found.
func keeps(bytes int64) error {
	if bytes > keptBytes {
		return fmt.Errorf("%w: what is looked for alone is more than %d MiB", ErrEndless, keptBytes>>20)
	}
	return nil
}

// eachPage lists live, page by page. Each is decoded into a list of its own, a
// copy of empty: decoding merges into what is there.
func eachPage[L client.ObjectList](ctx context.Context, r *reading, t clusters.Target, empty L, each func(L) error, opts ...client.ListOption) error {
	next := ""
	for {
		page, ok := empty.DeepCopyObject().(L)
		if !ok {
			return fmt.Errorf("copy of %T is of another type", empty)
		}
		err := t.APIReader().List(ctx, page, append(slices.Clip(opts), client.Limit(listPage), client.Continue(next))...)
		if err == nil {
			err = r.take(page)
		}
		if err == nil {
			err = each(page)
		}
		if err != nil {
			return tooLong(ctx, err)
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
		if err := r.more(); err != nil {
			return err
		}
	}
}

// eachMetadata lists a kind as eachPage does, without the objects' content.
func eachMetadata(ctx context.Context, r *reading, t clusters.Target, gvk schema.GroupVersionKind, each func(*metav1.PartialObjectMetadata) error, opts ...client.ListOption) error {
	empty := &metav1.PartialObjectMetadataList{}
	empty.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return eachPage(ctx, r, t, empty, func(page *metav1.PartialObjectMetadataList) error {
		for i := range page.Items {
			page.Items[i].SetGroupVersionKind(gvk)
			if err := each(&page.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}, opts...)
}
