// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// BoundCalls gives every call that is made with cfg, the hub's, the deadlines of
// a call to a target: Timing.CallTimeout, and Timing.WatchTimeout for the start
// of a watch (10 s and 60 s when unset). The timeout of the configuration itself
// would cut every watch as well.
func BoundCalls(cfg *rest.Config, t Timing) {
	t = t.withDefaults()
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &boundedTransport{next: next, timing: t}
	})
}

type boundedTransport struct {
	next   http.RoundTripper
	timing Timing
}

// WrappedRoundTripper lets helpers of apimachinery find the http.Transport.
func (b *boundedTransport) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip is part of http.RoundTripper.
func (b *boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	d := b.timing.limit(req)
	resp, err := b.next.RoundTrip(req.WithContext(d.ctx))
	if err != nil {
		err = d.explain(err)
		d.end()
		return nil, err
	}
	d.established(req)
	resp.Body = &limitedBody{ReadCloser: resp.Body, deadline: d}
	return resp, nil
}

// deadline bounds one request as a whole, and a watch until its response headers
// are there. It lives until the body is closed.
type deadline struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// limit starts the deadline of a request.
func (t Timing) limit(req *http.Request) *deadline {
	limit := t.CallTimeout
	if isWatch(req) {
		limit = t.WatchTimeout
	}
	d := &deadline{}
	d.ctx, d.cancel = context.WithCancelCause(req.Context())
	d.timer = time.AfterFunc(limit, func() { d.cancel(errDeadline) })
	return d
}

// established lets a watch go on.
func (d *deadline) established(req *http.Request) {
	if isWatch(req) {
		d.timer.Stop()
	}
}

func (d *deadline) end() {
	d.timer.Stop()
	d.cancel(nil)
}

// explain says that it was the deadline which ended a request.
func (d *deadline) explain(err error) error {
	if errors.Is(context.Cause(d.ctx), errDeadline) {
		return fmt.Errorf("%w: %w", errDeadline, err)
	}
	return err
}

type limitedBody struct {
	io.ReadCloser
	deadline *deadline
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.deadline.explain(err)
	}
	return n, err
}

// Close is part of io.Closer.
func (b *limitedBody) Close() error {
	defer b.deadline.end()
	return b.ReadCloser.Close()
}
