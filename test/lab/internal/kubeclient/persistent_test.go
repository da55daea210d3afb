// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package kubeclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// serve answers the first requests with failing and the rest with the body they carry.
func serve(t *testing.T, failing ...http.HandlerFunc) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := int(requests.Add(1)); n <= len(failing) {
			failing[n-1](w, r)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func tooLate(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) }

func patch(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, url, strings.NewReader("all of it"))
	if err != nil {
		return nil, err
	}
	return (&http.Client{Transport: persistent{http.DefaultTransport}}).Do(req)
}

func TestARequestIsMadeUntilItIsAnswered(t *testing.T) {
	url, requests := serve(t, cutOff, tooLate)
	resp, err := patch(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || string(body) != "all of it" {
		t.Errorf("the answer is %s %q %v", resp.Status, body, err)
	}
	if got := requests.Load(); got != 3 {
		t.Errorf("there were %d requests, want 3", got)
	}
}

func TestARequestEndsWithItsContextAndSaysWhatWasWrong(t *testing.T) {
	url, _ := serve(t, tooLate, tooLate, tooLate, tooLate, tooLate, tooLate, tooLate, tooLate)
	ctx, cancel := context.WithTimeout(t.Context(), 3*pause)
	defer cancel()
	resp, err := patch(ctx, url)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "504 Gateway Timeout") {
		t.Errorf("the request ended with %v", err)
	}
}

func TestWhatWaitingDoesNotChangeIsToldAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	resp, err := patch(ctx, gone.URL)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("where nothing listens: %v", err)
	}
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	defer stranger.Close()
	resp, err = patch(ctx, stranger.URL)
	if err == nil {
		resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("where another server listens: %v", err)
	}
	if ctx.Err() != nil {
		t.Error("it took until the deadline")
	}
}
