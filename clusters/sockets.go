// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// sockets are those of one connection. They stand apart from all else that belongs to it: the HTTP/2 client sets a timer
// that holds whatever dials for most of a minute after the last socket was closed.
type sockets struct {
	life context.Context
	// opened counts them, and onOpen is told of each.
	opened atomic.Int64
	onOpen func()

	mu    sync.Mutex // guards conns; never held across I/O
	conns map[net.Conn]struct{}
}

// dialer checks the address that a registered name resolves to. A proxy of the operator's own environment is not the
// registration's, and is not checked.
func (s *sockets) dialer(reg *Registration, timeout time.Duration, allowLocal bool) func(context.Context, string, string) (net.Conn, error) {
	registered := map[string]bool{dialAddress(reg.Server): true}
	if reg.Proxy != nil {
		registered[dialAddress(reg.Proxy)] = true
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		d := &net.Dialer{Timeout: timeout, KeepAlive: 15 * time.Second}
		if !allowLocal && registered[addr] {
			d.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
				if to, err := netip.ParseAddrPort(resolved); err != nil || isLocalAddr(to.Addr()) {
					return errLocalAddress
				}
				return nil
			}
		}
		// The http.Transport dials aside, and on after the call that wanted it was given up.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return s.track(conn)
	}
}

// dialAddress is the host and port that an http.Transport dials for an address.
func dialAddress(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	if port == "" {
		port = "1080"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

type trackedConn struct {
	net.Conn
	once   sync.Once
	forget func()
	// vouched: the cluster that was connected to answers on it.
	vouched atomic.Bool

	mu     sync.Mutex    // guards asking; never held across a call
	asking chan struct{} // closed when the one who asks who answers has an answer; nil while nobody does
}

// Close is part of net.Conn.
func (c *trackedConn) Close() error {
	c.once.Do(c.forget)
	return c.Conn.Close()
}

func (s *sockets) track(conn net.Conn) (net.Conn, error) {
	tracked := &trackedConn{Conn: conn}
	tracked.forget = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, tracked)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		_ = conn.Close() // nobody reads it yet
		return nil, errClosed
	}
	s.conns[tracked] = struct{}{}
	s.opened.Add(1)
	if s.onOpen != nil {
		s.onOpen()
	}
	return tracked, nil
}

func (s *sockets) close() {
	s.mu.Lock()
	conns := s.conns
	s.conns = nil
	s.mu.Unlock()
	for conn := range conns {
		_ = conn.Close() // there is nothing to be done about it
	}
}
