// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// tlsServer serves with a certificate of the tests' CA and answers a registration for it.
func tlsServer(t *testing.T, h http.HandlerFunc) (*httptest.Server, *Registration) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{testCA(t).issue(t, "server").tls(t)}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, &Registration{Server: parsed(t, s.URL), CA: testCA(t).certPEM, Token: secretValue}
}

func parsed(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func clientFor(t *testing.T, reg *Registration, allowLocal bool) (*http.Client, *transport, context.CancelFunc) {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	tr, err := newTransport(life, reg, Timing{CallTimeout: 300 * time.Millisecond, WatchTimeout: 300 * time.Millisecond}, allowLocal, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		tr.close()
	})
	return &http.Client{Transport: tr}, tr, end
}

func get(t *testing.T, c *http.Client, at string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(req)
}

func TestACallThatOutlivesItsConnectionIsNotCounted(t *testing.T) {
	life, end := context.WithCancel(context.Background())
	defer end()
	s, reg := tlsServer(t, func(http.ResponseWriter, *http.Request) {})
	var counted []string
	tr, err := newTransport(life, reg, Timing{CallTimeout: time.Second, WatchTimeout: time.Second}, true, func(verb, code string) { counted = append(counted, verb+" "+code) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.close)
	for _, alive := range []bool{true, false} {
		if !alive {
			end()
		}
		resp, err := get(t, &http.Client{Transport: tr}, s.URL)
		if (err == nil) != alive {
			t.Fatalf("the connection lives: %t; error is %v", alive, err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
	if !slices.Equal(counted, []string{"GET 200"}) {
		t.Errorf("counted are %q", counted)
	}
}

func TestTheTokenDoesNotFollowARedirect(t *testing.T) {
	var leaked atomic.Bool
	other, _ := tlsServer(t, func(http.ResponseWriter, *http.Request) { leaked.Store(true) })
	s, reg := tlsServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	// A client that follows redirects, as no connection's does.
	c, _, _ := clientFor(t, reg, true)
	resp, err := get(t, c, s.URL)
	if err == nil {
		_ = resp.Body.Close()
		t.Error("the redirect was followed")
	}
	if !errors.Is(err, errOtherHost) {
		t.Errorf("got %v", err)
	}
	if leaked.Load() {
		t.Error("the other host was called")
	}
}

func TestTheTokenOfTheMomentIsSent(t *testing.T) {
	s, reg := tlsServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Authorization")) })
	c, tr, _ := clientFor(t, reg, true)
	for _, token := range []string{secretValue, "another"} {
		tr.token.Store(&token)
		resp, err := get(t, c, s.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(body) != "Bearer "+token {
			t.Errorf("sent %q", body)
		}
	}
}

func TestANameThatResolvesToThisMachineIsNotDialled(t *testing.T) {
	s, reg := tlsServer(t, func(http.ResponseWriter, *http.Request) {})
	c, _, _ := clientFor(t, reg, false)
	resp, err := get(t, c, s.URL)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, errLocalAddress) {
		t.Errorf("got %v", err)
	}
	if got := describe(err); got != errLocalAddress.Error() {
		t.Errorf("described as %q", got)
	}
}

func TestARefusedConnectionIsNotSomethingThatAReflectorSleepsOver(t *testing.T) {
	s, reg := tlsServer(t, func(http.ResponseWriter, *http.Request) {})
	s.Close() // the port is free now, and refuses
	c, _, _ := clientFor(t, reg, true)
	resp, err := get(t, c, s.URL+"/api/v1/pods?watch=true")
	if err == nil {
		_ = resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Fatalf("got %v", err)
	}
	if utilnet.IsConnectionRefused(err) {
		t.Errorf("client-go would retry %v inside the watch, deaf to its context", err)
	}
}

func TestDeadlines(t *testing.T) {
	stall := make(chan struct{})
	t.Cleanup(func() { close(stall) })
	s, reg := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-stall:
		case <-r.Context().Done():
		}
	})
	c, _, end := clientFor(t, reg, true)
	for _, path := range []string{"/headers", "/body", "/headers?watch=true"} {
		t.Run("a call that stalls at "+path, func(t *testing.T) {
			began := time.Now()
			resp, err := get(t, c, s.URL+path)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			var tagged *transportError
			if !errors.Is(err, errDeadline) || !errors.As(err, &tagged) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	t.Run("an established watch outlives the limit, and ends with the connection", func(t *testing.T) {
		resp, err := get(t, c, s.URL+"/body?watch=1")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		ended := make(chan error, 1)
		go func() {
			_, err := resp.Body.Read(make([]byte, 1))
			ended <- err
		}()
		select {
		case err := <-ended:
			t.Fatalf("it ended by itself: %v", err)
		case <-time.After(time.Second):
		}
		end()
		if err := <-ended; !errors.Is(err, errClosed) {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Run("the caller's own deadline is the caller's", func(t *testing.T) {
		c, _, _ := clientFor(t, reg, true)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		var tagged *transportError
		if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &tagged) {
			t.Errorf("got %v", err)
		}
	})
}

func TestFaultsAreWordedTheSameEachTime(t *testing.T) {
	unreachable := blackHole(t, false)
	_, reg := tlsServer(t, func(http.ResponseWriter, *http.Request) {})
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for _, tt := range []struct {
		name   string
		change func(*Registration)
		want   string
	}{
		{"nobody listens", func(r *Registration) { r.Server = parsed(t, "https://127.0.0.1:1") }, refusesOrCloses},
		{"silence", func(r *Registration) { r.Server = parsed(t, unreachable) }, "no answer in time"},
		{"another CA", func(r *Registration) {
			ca, err := newAuthority()
			if err != nil {
				t.Fatal(err)
			}
			r.CA = ca.certPEM
		}, "the server's certificate is signed by an unknown authority"},
		{"another name", func(r *Registration) { r.ServerName = "kubernetes.example.org" }, "the server's certificate is not valid for its host name"},
		{"no TLS", func(r *Registration) { r.Server = parsed(t, strings.Replace(plain.URL, "http:", "https:", 1)) }, "the server does not speak TLS"},
		{"no such host", func(r *Registration) { r.Server = parsed(t, "https://nobody.invalid") }, "the server's host name does not resolve"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := *reg
			tt.change(&changed)
			c, _, _ := clientFor(t, &changed, true)
			for range 2 {
				resp, err := get(t, c, changed.Server.String())
				if err == nil {
					_ = resp.Body.Close()
				}
				if got := describe(err); got != tt.want {
					t.Errorf("%v is described as %q, want %q", err, got, tt.want)
				}
			}
		})
	}
}

func TestIsStatusTakesNothingButTheAPIServersOwn(t *testing.T) {
	status := func(code int32) string {
		raw, err := json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code,
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, tt := range []struct {
		name, kind, body string
		code             int
		want             bool
	}{
		{"a Status", "application/json", status(503), 503, true},
		{"a Status that says another code", "application/json", status(500), 503, false},
		{"a page of the Service", "text/html", "<h1>down</h1>", 503, false},
		{"JSON of the Service", "application/json", `{"reasons":["db"]}`, 503, false},
		{"a good answer", "application/json", status(200), 200, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := &http.Response{StatusCode: tt.code, Header: http.Header{"Content-Type": {tt.kind}}}
			if got := isStatus(resp, []byte(tt.body)); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestBackoffIsBoundedAndGrows(t *testing.T) {
	b := newBackoff(100*time.Millisecond, time.Second)
	last := time.Duration(0)
	for i := range 6 {
		d := b.next()
		if d > time.Second || (i < 3 && d <= last) {
			t.Errorf("pause %d is %s after %s", i, d, last)
		}
		last = d
	}
	b.reset()
	if d := b.next(); d > 100*time.Millisecond {
		t.Errorf("after a success it begins with %s", d)
	}
}
