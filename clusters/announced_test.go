// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// aggregated is the content type of a discovery that tells of everything at once.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// many repeats what is made of each number, with commas between.
func many(n int, of func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = of(i)
	}
	return strings.Join(parts, ",")
}

func TestAClusterThatAnnouncesTooMuchIsToldSo(t *testing.T) {
	group := func(i int) string {
		return fmt.Sprintf(`{"name":"g%d","versions":[{"groupVersion":"g%d/v1","version":"v1"}]}`, i, i)
	}
	resource := func(i int) string {
		return fmt.Sprintf(`{"resource":"r%d","responseKind":{"group":"g","version":"v1","kind":"K%d"},"scope":"Namespaced"}`, i, i)
	}
	for _, tt := range []struct {
		name, contentType, body string
	}{
		{"versions", "application/json", `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + many(announcedVersions+1, group) + `]}`},
		{"versions by the hundred thousand", "application/json", `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + many(700_000, group) + `]}`},
		{
			"kinds", aggregated,
			`{"items":[{"metadata":{"name":"g"},"versions":[{"version":"v1","resources":[` + many(announcedKinds+1, resource) + `]}]}]}`,
		},
		{"values without content", aggregated, `{"items":[` + many(500_000, func(int) string { return "{}" }) + `]}`},
		{"words", aggregated, `{"items":[{"metadata":{"name":"` + strings.Repeat("x", announcedBytes) + `"}}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int64
			s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case r.URL.Path == "/apis":
					w.Header().Set("Content-Type", tt.contentType)
					_, _ = io.WriteString(w, tt.body)
					return true
				case r.URL.Path == "/api" && tt.contentType == aggregated:
					w.Header().Set("Content-Type", aggregated)
					_, _ = io.WriteString(w, `{"items":[]}`)
					return true
				case strings.HasPrefix(r.URL.Path, "/apis/g"):
					asked.Add(1)
					http.NotFound(w, r)
					return true
				}
				return false
			})
			f := newFleet(t, func(o *Options) { o.ProbeTimeout, o.CallTimeout = 10*time.Second, 10*time.Second })
			before := runtime.NumGoroutine()
			f.register("edge", s.kubeconfig(t))
			awaitExcess(f, "edge", errAnnounced.words, errAnnounced.cure)
			if n := asked.Load(); n != 0 {
				t.Errorf("%d versions were asked for", n)
			}
			if n := runtime.NumGoroutine() - before; n > 200 {
				t.Errorf("%d goroutines more", n)
			}
			leave := func(http.ResponseWriter, *http.Request) bool { return false }
			s.act.Store(&leave)
			target := f.connected("edge")
			f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)

			// One that does so later is not served on.
			act := func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/apis" {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[`+many(announcedVersions+1, group)+`]}`)
				return true
			}
			s.act.Store(&act)
			target.(*connection).discoverSoon()
			awaitExcess(f, "edge", errAnnounced.words, errAnnounced.cure)
		})
	}
}

func TestAClusterThatTellsOfEachVersionByItselfIsAskedForAFewAtATime(t *testing.T) {
	var now, most atomic.Int64
	s := newStage(t, targetConfig, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/api") {
			r.Header.Set("Accept", "application/json") // of old, without resources
		}
		if strings.Count(r.URL.Path, "/") != 3 || !strings.HasPrefix(r.URL.Path, "/apis/") {
			return false
		}
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		wait(r.Context(), 20*time.Millisecond, nil) // so that they meet
		return false
	})
	f := newFleet(t)
	f.register("edge", s.kubeconfig(t))
	target := f.connected("edge")
	if ok, err := target.Serves(appsv1.SchemeGroupVersion.WithKind("Deployment")); !ok || err != nil {
		t.Errorf("it serves Deployments: %t, %v", ok, err)
	}
	if ok, err := target.Serves(widget); ok || err != nil {
		t.Errorf("it serves widgets: %t, %v", ok, err)
	}
	if n := most.Load(); n < 2 || n > announcedAtOnce {
		t.Errorf("%d versions were asked for at once, want 2 to %d", n, announcedAtOnce)
	}
}

func TestADiscoveryThatIsToldToWaitHoldsNoEndUp(t *testing.T) {
	asked := make(chan struct{}, 1)
	forgotten := make(chan string, 1)
	s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/apis" {
			return false
		}
		poke(asked)
		w.Header().Set("Retry-After", "3600")
		http.Error(w, "later", http.StatusTooManyRequests)
		return true
	})
	f := newFleet(t, func(o *Options) { o.Forgotten = func(cluster string) { forgotten <- cluster } })
	registration := f.register("edge", s.kubeconfig(t))
	<-asked
	<-asked // it is tried again
	began := time.Now()
	if err := hubAdmin.Delete(context.Background(), registration); err != nil {
		t.Fatal(err)
	}
	<-forgotten
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the deregistration ended after %s", took)
	}
}

func TestAVersionThatIsNotAskedForIsNotTakenForAbsent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errDeadline)
	a := &announcement{resources: map[schema.GroupVersion]*metav1.APIResourceList{}, failed: map[schema.GroupVersion]error{}}
	for _, name := range []string{"apps", "batch", "policy"} {
		a.groups = append(a.groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{{Version: "v1"}}})
	}
	if err := a.ask(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for _, group := range a.groups {
		if err := a.failed[schema.GroupVersion{Group: group.Name, Version: "v1"}]; !errors.Is(err, errDeadline) {
			t.Errorf("of %s it is known: %v", group.Name, err)
		}
	}
}
