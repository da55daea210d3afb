// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// holding makes a fleet whose hub never answers the requests that hold names, until release is called.
func holding(t *testing.T, hold func(r *http.Request) bool) (f *fleet, release func()) {
	t.Helper()
	released := make(chan struct{})
	release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	s := newStage(t, hubConfig, func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-released:
			return false
		default:
		}
		if !hold(r) {
			return false
		}
		select {
		case <-released:
		case <-r.Context().Done():
		}
		return true // whoever asked is told nothing
	})
	f = idleFleet(t)
	f.hubConfig = &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: testCA(t).certPEM}, QPS: -1}
	BoundCalls(f.hubConfig, quick())
	return f, release
}

func TestAHubThatHoldsOneSourceBackDelaysNoOther(t *testing.T) {
	clusterCRD(t)
	for _, tt := range []struct {
		name string
		hold func(r *http.Request) bool
		// waits is registered where the hub does not answer, serves where it does.
		waits, serves string
	}{
		{"the Secrets", func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/secrets") && strings.Contains(r.URL.RawQuery, "multicluster-runtime-kubeconfig")
		}, "by-secret", "by-cluster"},
		{"the Clusters", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/clusters") }, "by-cluster", "by-secret"},
		{"the Secrets of Cluster API", func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/secrets") && strings.Contains(r.URL.RawQuery, "cluster-name")
		}, "by-cluster", "by-secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, release := holding(t, tt.hold)
			f.register("by-secret", kubeconfig(t, targetConfig, ""))
			f.initialize(f.cluster("by-cluster", nil))
			f.capiSecret("by-cluster", kubeconfig(t, targetConfig, ""))
			f.start()
			f.connected(tt.serves)
			for _, name := range []string{tt.waits, "nobody"} { // who is not registered cannot be told from who is
				message := f.unavailable(name, CauseConnecting)
				if !strings.Contains(message, "the registrations are being read; if that lasts, the operator's log says why") {
					t.Errorf("message %q", message)
				}
			}
			release()
			f.connected(tt.waits)
			f.unavailable("nobody", CauseNotRegistered)
		})
	}
}

func TestAKubeconfigThatTheHubDoesNotAnswerForDelaysNoOtherAndSaysSo(t *testing.T) {
	clusterCRD(t)
	f, release := holding(t, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/secrets/a-held-kubeconfig") })
	for _, name := range []string{"a-held", "served"} {
		f.initialize(f.cluster(name, nil))
		f.capiSecret(name, kubeconfig(t, targetConfig, ""))
	}
	began := time.Now()
	f.start()
	f.connected("served")
	t.Logf("the other one is connected after %s", time.Since(began).Round(time.Millisecond))
	f.unavailable("nobody", CauseNotRegistered) // one Cluster in doubt leaves no other name in doubt

	tc := f.shows("a-held", v1alpha1.ConditionAccepted, v1alpha1.ReasonKubeconfigMissing)
	want := "cannot be read from the hub, which is tried again: no answer in time"
	if c := meta.FindStatusCondition(tc.Status.Conditions, v1alpha1.ConditionAccepted); !strings.Contains(c.Message, want) {
		t.Errorf("message %q", c.Message)
	}
	if message := f.unavailable("a-held", CauseRefused); !strings.Contains(message, want) {
		t.Errorf("message %q", message)
	}
	if len(f.recorded("Cluster/a-held Warning ClusterRefused")) == 0 {
		t.Errorf("events: %v", f.recorded(""))
	}
	release()
	f.connected("a-held")
	f.shows("a-held", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
}
