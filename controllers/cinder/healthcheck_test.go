// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestADirectProbeNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/ok":
		case "/moved":
			http.Redirect(w, req, "/ok", http.StatusFound)
		case "/silent":
			<-release
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	t.Cleanup(func() {
		close(release)
		server.Close()
	})
	for name, c := range map[string]struct{ url, reason string }{
		"healthy":              {server.URL + "/ok", ""},
		"a redirect":           {server.URL + "/moved", v1alpha1.ReasonAPIUnhealthy},
		"disabled":             {server.URL + "/down", v1alpha1.ReasonAPIUnhealthy},
		"nobody listens":       {closed.URL, v1alpha1.ReasonConnectionFailed},
		"no such host":         {"http://cinder.invalid:8776/", v1alpha1.ReasonConnectionFailed},
		"silence":              {server.URL + "/silent", v1alpha1.ReasonHealthCheckTimeout},
		"not even an HTTP URL": {"gopher://" + server.Listener.Addr().String(), v1alpha1.ReasonHealthCheckFailed},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			got := directProbe(ctx, newProbeClient(), c.url)
			if got.reason != c.reason || (got.message == "") != (c.reason == "") {
				t.Errorf("the probe found %+v, want %q", got, c.reason)
			}
		})
	}
}

func TestAPassingProbeIsReusedForItsOwnClusterAndEndpointOnly(t *testing.T) {
	t.Parallel()
	c := newProbeCache()
	name := types.NamespacedName{Namespace: "ns", Name: "cinder"}
	key := probeKey{cinder: "1", cluster: "2", endpoint: "http://a"}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.passed(name, key, start)

	if left := c.fresh(name, key, 30*time.Second, start.Add(20*time.Second)); left != 10*time.Second {
		t.Errorf("after 20 s it stands for another %s", left)
	}
	if left := c.fresh(name, key, 30*time.Second, start.Add(31*time.Second)); left != 0 {
		t.Errorf("after its time it stands for %s", left)
	}
	for what, other := range map[string]probeKey{
		"a Cinder made anew": {"9", "2", "http://a"}, "another cluster": {"1", "9", "http://a"}, "another endpoint": {"1", "2", "http://b"},
	} {
		if left := c.fresh(name, other, 30*time.Second, start); left != 0 {
			t.Errorf("it answers for %s", what)
		}
	}
	c.evict(name)
	if left := c.fresh(name, key, 30*time.Second, start); left != 0 {
		t.Error("an evicted answer stands")
	}
}
