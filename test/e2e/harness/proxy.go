// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Proxy stands between the operator and one API server. Everything passes
// through it unchanged, streaming watches too, unless a test says otherwise.
type Proxy struct {
	server  *httptest.Server
	reverse *httputil.ReverseProxy
	cluster *Cluster
	ca      []byte

	mu       sync.Mutex // guards the fields below; never held across a call
	override func(http.ResponseWriter, *http.Request) bool
	trigger  *Trigger
}

// Trigger does something once, at the n-th write that passes a proxy it is set on.
type Trigger struct {
	// N counts from 1; 0 only counts the writes.
	N int
	// Before: the write that triggers is not passed on. Otherwise it is done, and
	// the caller never has the answer.
	Before bool
	// Do runs while the write waits.
	Do func()

	mu    sync.Mutex // guards the fields below; not held while Do runs
	seen  []string
	fired string
}

// Seen lists the writes so far, as "verb path".
func (t *Trigger) Seen() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.seen)
}

// Fired is the write that triggered, or empty.
func (t *Trigger) Fired() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fired
}

func (t *Trigger) count(r *http.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, r.Method+" "+r.URL.Path)
	if t.fired != "" || len(t.seen) != t.N {
		return false
	}
	t.fired = r.Method + " " + r.URL.Path
	return true
}

type triggered struct{}

// Proxy starts a proxy in front of the cluster's API server. It ends with the test.
func (c *Cluster) Proxy(t testing.TB) *Proxy {
	t.Helper()
	upstream, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	// The caller's own credential is passed on: the proxy verifies the server and
	// has none itself.
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(c.Config))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{cluster: c}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:       func(pr *httputil.ProxyRequest) { pr.SetURL(upstream) },
		Transport:     transport,
		FlushInterval: -1,
		ModifyResponse: func(resp *http.Response) error {
			if tr, ok := resp.Request.Context().Value(triggered{}).(*Trigger); ok {
				tr.Do()
				return http.ErrAbortHandler
			}
			return nil
		},
		// What happened behind the proxy is no answer of the API server's: the
		// caller sees its connection break.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	p.server = httptest.NewUnstartedServer(p)
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	ca, cert := serverCertificate(t)
	p.ca, p.server.TLS = ca, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	p.server.StartTLS()
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

// Override lets f answer requests in place of the API server: those for which it
// returns true. Nil ends it.
func (p *Proxy) Override(f func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.override = f
}

// Set puts a trigger in force, in place of the one before. Nil takes it out.
func (p *Proxy) Set(t *Trigger) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger = t
}

// ServeHTTP is part of http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	override, trigger := p.override, p.trigger
	p.mu.Unlock()
	if override != nil && override(w, r) {
		return
	}
	if trigger != nil && isWrite(r) && trigger.count(r) {
		if trigger.Before {
			trigger.Do()
			panic(http.ErrAbortHandler)
		}
		r = r.WithContext(context.WithValue(r.Context(), triggered{}, trigger))
	}
	p.reverse.ServeHTTP(w, r)
}

// isWrite tells whether a request changes an object that somebody can see;
// reviews change none.
func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions &&
		!strings.Contains(r.URL.Path, "/selfsubject") && !strings.Contains(r.URL.Path, "/leases")
}

// Kubeconfig is the operator's account on the cluster, by way of the proxy.
func (p *Proxy) Kubeconfig(t testing.TB) []byte {
	t.Helper()
	cfg, err := clientcmd.LoadFromFile(p.cluster.AccountKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cfg.Clusters {
		c.Server, c.CertificateAuthorityData, c.CertificateAuthority, c.TLSServerName = p.server.URL, p.ca, "", ""
	}
	out, err := clientcmd.Write(*cfg)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
