// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// tunnel is a proxy that connects to whatever it is asked for, spoken to over TLS or not.
func tunnel(t *testing.T, overTLS bool) *httptest.Server {
	t.Helper()
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Once it is hijacked, the server no longer waits for a connection when it is closed.
		running.Add(1)
		defer running.Done()
		up, err := net.Dial("tcp", r.Host)
		if r.Method != http.MethodConnect || err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		down, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = up.Close()
			return
		}
		_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		for _, pair := range [][2]net.Conn{{up, down}, {down, up}} {
			running.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_, _ = pair[0].Close(), pair[1].Close()
			})
		}
	}))
	if overTLS {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{testCA(t).issue(t, "proxy").tls(t)}}
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func TestSocketsThatLeadThroughAProxyAreVouchedForToo(t *testing.T) {
	for name, overTLS := range map[string]bool{"http": false, "https": true} {
		t.Run(name, func(t *testing.T) {
			c, s, direct := newChangeling(t, true)
			life, end := context.WithCancel(context.Background())
			reg := &Registration{Server: direct.server, CA: testCA(t).certPEM, Token: secretValue, Proxy: parsed(t, tunnel(t, overTLS).URL)}
			tr, err := newTransport(life, reg, direct.timing, true, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				end()
				tr.close()
			})
			tr.identified(types.UID("one"))
			if err := write(t, tr, s.URL, 1)[0]; err != nil {
				t.Fatalf("a write to the cluster itself: %v", err)
			}
			c.become("another")
			s.CloseClientConnections()
			eventually(t, 20*time.Second, func(context.Context) error {
				if err := write(t, tr, s.URL, 1)[0]; !errors.Is(err, errAnotherCluster) {
					return fmt.Errorf("a write ended with %w: %w", err, errNotYet)
				}
				return nil
			})
			if n := c.reached("another"); n != 0 {
				t.Errorf("%d writes reached the other cluster", n)
			}
		})
	}
}
