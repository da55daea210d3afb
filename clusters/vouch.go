// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	identityPath = "/api/v1/namespaces/" + metav1.NamespaceSystem
	// identityLimit bounds what is read of a namespace: it may carry annotations of others.
	identityLimit = 2 << 20
)

// errAnotherCluster says that another cluster answers than the one that was connected to.
var errAnotherCluster = errors.New("another cluster answers there now")

// asking marks the calls by which the cluster is asked who it is.
type asking struct{}

// unasked tells whether a call may go to whoever answers: it asks whether, or who, somebody does.
func unasked(req *http.Request) bool {
	return req.Context().Value(asking{}) != nil || req.URL.Path == "/readyz" || req.URL.Path == "/version"
}

// doubt is why nothing is sent for a while, without trying: a call that nobody vouches for takes its socket with it, which
// may be the one that a probe is under way on.
type doubt struct {
	err   error
	until time.Time // zero is for ever
}

// doubted answers why a call is not to be sent, or nil.
func (t *transport) doubted(req *http.Request) error {
	d := t.doubt.Load()
	if d == nil || unasked(req) || (!d.until.IsZero() && time.Now().After(d.until)) {
		return nil
	}
	return &transportError{d.err}
}

// identified has the transport speak to the cluster with that UID alone from now on.
func (t *transport) identified(uid types.UID) { t.expected.Store(&uid) }

// vouching has every socket asked who answers before the first call goes over it: an address, a name or a load balancer
// may lead elsewhere from one socket to the next, and what the operator means for one cluster must neither be written to
// another nor be believed of it. Over HTTP/2 the question goes over the socket itself. HTTP/1 holds a socket for each
// call, and the question goes over its neighbour.
//
// A call whose socket nobody vouches for must not be sent. The http.Transport may still send one that was cancelled, so
// that the socket is closed under it.
func (t *transport) vouching(req *http.Request, cancel context.CancelCauseFunc) *http.Request {
	if t.expected.Load() == nil || unasked(req) {
		return req
	}
	ctx := req.Context()
	return req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		over := trackedOf(info.Conn)
		if over == nil || over.vouched.Load() {
			return
		}
		if err := t.vouch(ctx, over, tries(info.Conn)); err != nil {
			cancel(err)
			_ = over.Close() // the call that would have used it says what is wrong
		}
	}}))
}

// tries is how often the question may miss the socket that it is asked for.
func tries(conn net.Conn) int {
	if c, ok := conn.(*tls.Conn); ok && c.ConnectionState().NegotiatedProtocol == "h2" {
		return 3
	}
	return 1
}

// vouch asks who answers on a socket. Of the calls that wait for it, one asks.
func (t *transport) vouch(ctx context.Context, over *trackedConn, tries int) error {
	for !over.vouched.Load() {
		asked, mine := over.turn()
		if !mine {
			select {
			case <-asked:
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		err := t.ask(ctx)
		tries--
		if err == nil && tries <= 0 {
			over.vouched.Store(true)
		}
		over.asked()
		if err != nil {
			return err
		}
	}
	return nil
}

// ask asks who answers, and vouches for the socket that the answer came over. A cluster that will not say is taken for the
// same.
func (t *transport) ask(ctx context.Context) error {
	if t.stranger() {
		return errAnotherCluster
	}
	want := t.expected.Load()
	if want == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.timing.ProbeTimeout, errDeadline)
	defer cancel()
	uid, code, over, err := t.who(ctx)
	if err == nil && code == http.StatusNotFound {
		// The one that was connected to has that namespace: this one is only just being made.
		err = fmt.Errorf("get Namespace %s: %w", metav1.NamespaceSystem, &answerError{identityPath, code})
	}
	var answer *answerError
	switch {
	case errors.As(err, &answer):
		t.doubt.Store(&doubt{err, time.Now().Add(t.timing.ProbeInterval / 20)})
		return err
	case err != nil:
		return err
	case code == http.StatusOK && uid != *want:
		t.doubt.Store(&doubt{err: errAnotherCluster})
		return errAnotherCluster
	}
	t.doubt.Store(nil)
	if over != nil {
		over.vouched.Store(true)
	}
	return nil
}

// stranger tells whether another cluster was found in the place of the one that was connected to.
func (t *transport) stranger() bool {
	d := t.doubt.Load()
	return d != nil && d.until.IsZero()
}

// who answers the UID of the cluster, the socket that it came over, and the status of the answer: 200, or 403 or 404 where
// there is no UID.
func (t *transport) who(ctx context.Context) (types.UID, int, *trackedConn, error) {
	var over *trackedConn
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, asking{}, true), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { over = trackedOf(info.Conn) },
	})
	failed := func(err error) error { return fmt.Errorf("get Namespace %s: %w", metav1.NamespaceSystem, err) }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.server.JoinPath(identityPath).String(), nil)
	if err != nil {
		return "", 0, nil, failed(err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := t.RoundTrip(req)
	if err != nil {
		return "", 0, nil, failed(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, identityLimit))
	if err != nil {
		return "", 0, nil, failed(err)
	}
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusNotFound:
		return "", resp.StatusCode, over, nil
	case http.StatusOK:
	default:
		return "", 0, nil, failed(&answerError{identityPath, resp.StatusCode})
	}
	ns := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(body, &ns); err != nil || ns.UID == "" {
		return "", 0, nil, failed(errors.New("the answer is no namespace"))
	}
	return ns.UID, resp.StatusCode, over, nil
}

// trackedOf finds the socket underneath TLS, of a proxy too; nil if it is none of ours.
func trackedOf(conn net.Conn) *trackedConn {
	for {
		switch c := conn.(type) {
		case *trackedConn:
			return c
		case *tls.Conn:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// turn answers whether the caller is to ask who answers on the socket, else what is closed when somebody has.
func (c *trackedConn) turn() (<-chan struct{}, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking != nil {
		return c.asking, false
	}
	c.asking = make(chan struct{})
	return nil, true
}

func (c *trackedConn) asked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.asking)
	c.asking = nil
}
