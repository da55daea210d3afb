// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestCallsToAHubThatHangsEnd(t *testing.T) {
	stall := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-stall:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(stall)
		s.Close()
	})
	cfg := &rest.Config{Host: s.URL}
	BoundCalls(cfg, Timing{CallTimeout: 300 * time.Millisecond, WatchTimeout: 300 * time.Millisecond})
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/headers", "/body", "/headers?watch=true"} {
		t.Run("a call that stalls at "+path, func(t *testing.T) {
			resp, err := get(t, c, s.URL+path)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if !errors.Is(err, errDeadline) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("an established watch outlives the limit", func(t *testing.T) {
		resp, err := get(t, c, s.URL+"/body?watch=true")
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
			t.Errorf("it ended by itself: %v", err)
		case <-time.After(time.Second):
		}
		_ = resp.Body.Close()
	})
}
