// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// observedError stands in the place of a status code where there was no answer.
const observedError = "error"

var (
	errClosed       = errors.New("the connection was closed")
	errLocalAddress = errors.New("the host resolves to a loopback or link-local address, which is refused")
	errOtherHost    = errors.New("the cluster redirected to another host")
	errRefused      = errors.New("connection refused")
)

// transportError marks an error of the connection, as opposed to an answer of the API server or the end of the caller's
// own context.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// transport is how one connection speaks to its cluster. It owns its sockets: nothing is shared with another connection,
// so that closing one is complete and a socket that hangs is not met again by the next.
type transport struct {
	base   *http.Transport
	host   string
	server *url.URL
	// token is read for every request, so that a new one serves the running watches too.
	token atomic.Pointer[string]
	// life ends every call when the connection is closed.
	life   context.Context
	timing Timing
	// observed is told of every answer: the verb and the status code, or "error".
	observed func(verb, code string)
	intake   *intake
	sockets  *sockets
	// expected is the UID of the cluster that is spoken to, once it is known and told.
	expected atomic.Pointer[types.UID]
	// doubt is set while it is not certain that this is who answers.
	doubt atomic.Pointer[doubt]
}

func newTransport(life context.Context, reg *Registration, t Timing, allowLocal bool, observed func(verb, code string)) (*transport, error) {
	tr := &transport{
		host: reg.Server.Host, server: reg.Server, life: life, timing: t,
		observed: observed, intake: newIntake(Limits{}), sockets: &sockets{life: life, conns: map[net.Conn]struct{}{}},
	}
	tr.token.Store(&reg.Token)
	tlsConfig := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: reg.ServerName,
		InsecureSkipVerify: reg.Insecure, //nolint:gosec // only where the operator was started to admit it
	}
	if len(reg.CA) > 0 {
		tlsConfig.RootCAs = x509.NewCertPool()
		tlsConfig.RootCAs.AppendCertsFromPEM(reg.CA)
	}
	if len(reg.Cert) > 0 {
		pair, err := tls.X509KeyPair(reg.Cert, reg.Key)
		if err != nil {
			return nil, errors.New("the client certificate and its key do not fit")
		}
		tlsConfig.Certificates = []tls.Certificate{pair}
	}
	tr.base = &http.Transport{
		// The limits of dialling lie beyond those of calls, which are the ones that are told apart from other faults.
		TLSClientConfig: tlsConfig, TLSHandshakeTimeout: 2 * t.CallTimeout, MaxIdleConnsPerHost: 8,
		DialContext: tr.sockets.dialer(reg, 2*t.CallTimeout, allowLocal),
	}
	if reg.Proxy != nil {
		tr.base.Proxy = http.ProxyURL(reg.Proxy)
	}
	utilnet.SetTransportDefaults(tr.base)
	return tr, nil
}

// close ends every socket. Calls that still run fail; the connection has drained them before.
func (t *transport) close() {
	t.base.CloseIdleConnections()
	t.sockets.close()
}

// RoundTrip bounds a call as a whole, and a watch until its response headers are there: a limit on the client would cut
// every watch. The timer lives until the body is closed.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	refused := t.doubted(req)
	if req.URL.Host != t.host {
		// The token must not follow a redirect.
		refused = &transportError{errOtherHost}
	}
	if refused != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, refused
	}
	parent, watch := req.Context(), isWatch(req)
	limit := t.timing.limit(req)
	ctx := limit.ctx
	unlink := context.AfterFunc(t.life, func() { limit.cancel(errClosed) })
	end := func() {
		unlink()
		limit.end()
	}

	req = utilnet.CloneRequest(req.WithContext(ctx))
	if token := *t.token.Load(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := t.base.RoundTrip(t.vouching(req, limit.cancel))
	if err != nil {
		err = connectionError(parent, ctx, err)
		end()
		t.observe(req, watch, observedError)
		return nil, err
	}
	t.observe(req, watch, strconv.Itoa(resp.StatusCode))
	limit.established(req)
	resp.Body = &boundedBody{ReadCloser: resp.Body, parent: parent, ctx: ctx, end: end, watch: watch, intake: t.intake}
	t.boundDecoded(req, resp)
	return resp, nil
}

func (t *transport) observe(req *http.Request, watch bool, code string) {
	if t.observed == nil || t.life.Err() != nil { // the series of a cluster that is gone are gone
		return
	}
	verb := req.Method
	if watch {
		verb = "WATCH"
	}
	t.observed(verb, code)
}

// WrappedRoundTripper lets helpers of apimachinery find the http.Transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.base }

func isWatch(req *http.Request) bool {
	w := req.URL.Query().Get("watch")
	return w == "true" || w == "1"
}

// connectionError marks err, unless it is the caller who gave up.
func connectionError(parent, ctx context.Context, err error) error {
	switch {
	case parent.Err() != nil && !errors.Is(context.Cause(parent), errDeadline) && !errors.Is(context.Cause(parent), errSilent):
		return err
	case ctx.Err() != nil:
		return &transportError{fmt.Errorf("%w: %w", context.Cause(ctx), withoutRefusal(err))}
	}
	return &transportError{withoutRefusal(err)}
}

// withoutRefusal hides from client-go that a connection was refused. A reflector that is told so sleeps for up to a
// minute where no context can wake it, and would hold the end of its connection, and of the process, for as long.
func withoutRefusal(err error) error {
	if utilnet.IsConnectionRefused(err) {
		return fmt.Errorf("%w: %s", errRefused, err.Error())
	}
	return err
}

type boundedBody struct {
	io.ReadCloser
	parent, ctx context.Context
	end         func()
	watch       bool
	intake      *intake
	taken       atomic.Int64 // of an answer; a body may be closed while it is read
	once        sync.Once
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if tooMuch := b.take(n); tooMuch != nil {
		return 0, &transportError{tooMuch}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = connectionError(b.parent, b.ctx, err)
	}
	return n, err
}

func (b *boundedBody) take(n int) error {
	if b.watch {
		return b.intake.watch(n, time.Now())
	}
	b.taken.Add(int64(n))
	return b.intake.answer(n)
}

// Close is part of io.Closer.
func (b *boundedBody) Close() error {
	defer b.end()
	b.once.Do(func() { b.intake.done(b.taken.Load()) })
	return b.ReadCloser.Close()
}
