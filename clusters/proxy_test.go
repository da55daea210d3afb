// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// relay stands between a registry and an API server and misbehaves as told.
type relay struct {
	t    *testing.T
	to   string
	addr string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
	mute     bool
	accepted int
	running  sync.WaitGroup
}

func newRelay(t *testing.T, cfg *rest.Config) *relay {
	t.Helper()
	u, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	to := u.Host
	if to == "" {
		to = cfg.Host
	}
	r := &relay{t: t, to: to, addr: "127.0.0.1:0", conns: map[net.Conn]struct{}{}}
	r.start()
	t.Cleanup(func() {
		r.stop()
		r.running.Wait()
	})
	return r
}

func (r *relay) url() string { return "https://" + r.addr }

// start listens, on the address it had before.
func (r *relay) start() {
	r.t.Helper()
	l, err := net.Listen("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	r.listener, r.addr = l, l.Addr().String()
	r.mu.Unlock()
	r.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.serve(c)
		}
	})
}

// stop refuses connections and cuts those there are, as an API server that was killed.
func (r *relay) stop() {
	r.mu.Lock()
	l, conns := r.listener, r.conns
	r.conns = map[net.Conn]struct{}{}
	r.mu.Unlock()
	_ = l.Close()
	for c := range conns {
		_ = c.Close()
	}
}

// lead has new connections end at another API server.
func (r *relay) lead(cfg *rest.Config) {
	r.t.Helper()
	u, err := url.Parse(cfg.Host)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = u.Host
}

// cut ends the connections there are and serves new ones.
func (r *relay) cut() {
	r.mu.Lock()
	conns := r.conns
	r.conns = map[net.Conn]struct{}{}
	r.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

// silence makes every connection, there or to come, hang.
func (r *relay) silence(on bool) {
	r.mu.Lock()
	r.mute = on
	r.mu.Unlock()
}

func (r *relay) silent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mute
}

func (r *relay) open() (conns, accepted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns), r.accepted
}

func (r *relay) track(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = struct{}{}
}

func (r *relay) serve(c net.Conn) {
	r.mu.Lock()
	r.accepted++
	to := r.to
	r.mu.Unlock()
	up, err := net.Dial("tcp", to)
	if err != nil {
		_ = c.Close()
		return
	}
	r.track(c)
	var pipes sync.WaitGroup
	pipe := func(to, from net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			// What arrives while the relay is silent is lost.
			if n > 0 && !r.silent() {
				if _, werr := to.Write(buf[:n]); werr != nil {
					break
				}
			}
			if err != nil {
				break
			}
		}
		_ = to.Close()
		_ = from.Close()
	}
	pipes.Go(func() { pipe(up, c) })
	pipes.Go(func() { pipe(c, up) })
	r.running.Go(func() {
		pipes.Wait()
		r.mu.Lock()
		delete(r.conns, c)
		r.mu.Unlock()
	})
}

// blackHole accepts connections and never answers: before TLS, or after its handshake.
func blackHole(t *testing.T, afterTLS bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if afterTLS {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{testCA(t).issue(t, "silent").tls(t)}, NextProtos: []string{"h2", "http/1.1"}})
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			if afterTLS {
				running.Go(func() { _, _ = io.Copy(io.Discard, c) })
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return "https://" + addr
}
