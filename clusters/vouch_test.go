// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// changeling answers as a cluster with a UID that a test changes, and counts what reaches it.
type changeling struct {
	uid    atomic.Pointer[string]
	code   atomic.Int32 // of the answer who it is; 0 is 200
	asked  atomic.Int32
	mu     sync.Mutex
	writes map[string]int // by the UID of the moment
}

func (c *changeling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	uid := *c.uid.Load()
	if r.URL.Path == identityPath {
		c.asked.Add(1)
		if code := c.code.Load(); code != 0 {
			http.Error(w, "no", int(code))
			return
		}
		_, _ = fmt.Fprintf(w, `{"metadata":{"name":"kube-system","uid":%q}}`, uid)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes[uid]++
}

func (c *changeling) reached(uid string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes[uid]
}

func (c *changeling) become(uid string) { c.uid.Store(&uid) }

func newChangeling(t *testing.T, http2 bool) (*changeling, *httptest.Server, *transport) {
	t.Helper()
	c := &changeling{writes: map[string]int{}}
	c.become("one")
	s := httptest.NewUnstartedServer(c)
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{testCA(t).issue(t, "server").tls(t)}}
	s.StartTLS()
	t.Cleanup(s.Close)
	life, end := context.WithCancel(context.Background())
	reg := &Registration{Server: parsed(t, s.URL), CA: testCA(t).certPEM, Token: secretValue}
	tr, err := newTransport(life, reg, Timing{CallTimeout: 5 * time.Second, ProbeTimeout: 5 * time.Second, WatchTimeout: 5 * time.Second}, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		tr.close()
	})
	return c, s, tr
}

// write posts from several workers at once and answers their errors.
func write(t *testing.T, tr *transport, at string, workers int) []error {
	t.Helper()
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/api/v1/namespaces/default/configmaps", strings.NewReader("{}"))
			if err != nil {
				errs[i] = err
				return
			}
			resp, err := tr.RoundTrip(req)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errs
}

func TestNothingIsSentToWhoeverTookTheClustersPlace(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			c, s, tr := newChangeling(t, http2)
			tr.identified(types.UID("one"))
			const workers = 20
			for _, err := range write(t, tr, s.URL, workers) {
				if err != nil {
					t.Fatalf("a write to the cluster itself: %v", err)
				}
			}
			if n := c.reached("one"); n != workers {
				t.Errorf("%d writes reached it", n)
			}
			if n := c.asked.Load(); http2 && n > 2 {
				t.Errorf("it was asked %d times who it is, over one socket", n)
			}
			// A call over a socket that breaks under it fails; the next has a new one.
			until := func(ok func(error) bool) {
				eventually(t, 20*time.Second, func(context.Context) error {
					for _, err := range write(t, tr, s.URL, workers) {
						if !ok(err) {
							return fmt.Errorf("a write ended with %w", err)
						}
					}
					return nil
				})
			}
			s.CloseClientConnections()
			until(func(err error) bool { return err == nil })

			c.become("another")
			s.CloseClientConnections()
			until(func(err error) bool {
				var tagged *transportError
				return errors.Is(err, errAnotherCluster) && errors.As(err, &tagged) && describe(err) == errAnotherCluster.Error()
			})
			if n := c.reached("another"); n != 0 {
				t.Errorf("%d writes reached the other cluster", n)
			}
		})
	}
}

func TestAClusterThatIsNotYetItselfIsSentNothing(t *testing.T) {
	for code, reached := range map[int32]bool{
		http.StatusNotFound: false, http.StatusInternalServerError: false, http.StatusUnauthorized: false,
		http.StatusForbidden: true, // it will not say: it is taken for the same
	} {
		c, s, tr := newChangeling(t, true)
		tr.identified(types.UID("one"))
		c.code.Store(code)
		err := write(t, tr, s.URL, 1)[0]
		if (err == nil) != reached || (c.reached("one") == 1) != reached {
			t.Errorf("answered %d who it is: the write ended with %v, %d reached it", code, err, c.reached("one"))
		}
		if isUnauthorized(err) != (code == http.StatusUnauthorized) {
			t.Errorf("answered %d: %v", code, err)
		}
	}
}

func TestACallThatIsGivenUpWhileNobodyVouchesIsNotSent(t *testing.T) {
	c, s, tr := newChangeling(t, true)
	gate := make(chan struct{})
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == identityPath {
			<-gate
		}
		c.ServeHTTP(w, r)
	})
	tr.identified(types.UID("one"))
	for range 8 { // whether a cancelled call is sent is up to chance
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.URL+"/api/v1/namespaces/default/configmaps/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := tr.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
			t.Error("the call was answered")
		}
		cancel()
	}
	close(gate)
	if n := c.reached("one"); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
}

// Another cluster takes the address while workers write without pause, and long before the next probe.
func TestNoWriteReachesTheClusterThatTookTheAddress(t *testing.T) {
	f := newFleet(t, func(o *Options) { o.ProbeInterval, o.CallTimeout = 10*time.Second, 5*time.Second })
	r := newRelay(t, targetConfig)
	both := slices.Concat(bytes.TrimSpace(targetConfig.CAData), []byte("\n"), hubConfig.CAData)
	f.register("edge", kubeconfig(t, targetConfig, r.url(), withToken(sharedToken), func(c, _ fields) {
		c["certificate-authority-data"] = encode(both)
	}))
	was := f.connected("edge")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers sync.WaitGroup
	var sent, refused atomic.Int32
	for range 4 {
		workers.Go(func() {
			for ctx.Err() == nil {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "astray-", Labels: map[string]string{"astray": "yes"}}}
				if err := was.Client().Create(ctx, cm); err != nil {
					refused.Add(1)
					wait(ctx, time.Millisecond, nil) // a call that is refused costs nothing
				} else {
					sent.Add(1)
				}
			}
		})
	}
	eventually(t, 20*time.Second, func(context.Context) error {
		if sent.Load() < 20 {
			return errNotYet
		}
		return nil
	})
	began := time.Now()
	r.lead(hubConfig)
	r.cut()
	eventually(t, 20*time.Second, func(context.Context) error {
		now, err := f.resolve("edge", "default")
		if err == nil && now.UID() != systemUID(t, hubAdmin) {
			err = errNotYet
		}
		return err
	})
	t.Logf("the other cluster is a target of its own after %s; %d writes were refused meanwhile", time.Since(began).Round(time.Millisecond), refused.Load())
	stop()
	workers.Wait()
	if refused.Load() == 0 {
		t.Error("no write was refused")
	}
	astray := &corev1.ConfigMapList{}
	if err := hubAdmin.List(t.Context(), astray, client.MatchingLabels{"astray": "yes"}); err != nil {
		t.Fatal(err)
	}
	if n := len(astray.Items); n != 0 {
		t.Errorf("%d writes reached the other cluster", n)
	}
}
