// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// stage stands in front of an API server and answers some requests in its place. Whoever speaks to it is an
// administrator behind it.
type stage struct {
	*httptest.Server
	// act answers a request and true, or leaves it to the API server.
	act atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

func newStage(t *testing.T, cfg *rest.Config, act func(w http.ResponseWriter, r *http.Request) bool) *stage {
	t.Helper()
	upstream, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	behind, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(&url.URL{Scheme: upstream.Scheme, Host: upstream.Host})
			pr.Out.Header.Del("Authorization")
		},
		Transport: behind, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	s := &stage{}
	s.act.Store(&act)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !(*s.act.Load())(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{testCA(t).issue(t, "stage").tls(t)}}
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// kubeconfig leads to the stage.
func (s *stage) kubeconfig(t *testing.T) []byte {
	t.Helper()
	return kubeconfig(t, targetConfig, s.URL, withToken(secretValue), func(c, _ fields) {
		c["certificate-authority-data"] = encode(testCA(t).certPEM)
	})
}
