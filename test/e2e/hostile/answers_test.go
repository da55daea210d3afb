// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

const (
	// siege is how long the clusters do their worst.
	siege = 6 * time.Second
	// pause is how long the other cluster is left alone between two drifts.
	pause = 500 * time.Millisecond
	// repaired is what drift on another cluster may take meanwhile, on a machine that does more than this.
	repaired = 20 * time.Second
	// heap is what the operator's heap may come to meanwhile, in MiB: the bounds on
	// one connection, and what a collector lets lie of it. Without bounds it is
	// passed in seconds.
	heap = 768
	// growth is what the operator's memory may grow by, in MiB. Built as it is
	// here, with the race detector, it keeps several bytes beside each of the heap.
	growth = 3 * heap
)

// attacker is a cluster that is hostile while it is on.
type attacker struct {
	on   atomic.Bool
	sent atomic.Int64
}

// attack answers a request in a hostile way, or leaves it to the real cluster.
type attack func(w http.ResponseWriter, r *http.Request, by *attacker) bool

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// pour writes what next gives until the other side has had enough, or the attack is over.
func pour(w io.Writer, by *attacker, next func(i int) string) bool {
	for i := 0; by.on.Load(); i++ {
		n, err := io.WriteString(w, next(i))
		by.sent.Add(int64(n))
		if err != nil {
			return true
		}
	}
	panic(http.ErrAbortHandler)
}

var filler = strings.Repeat("x", 32<<10)

var attacks = map[string]attack{
	"answers that never end": func(w http.ResponseWriter, r *http.Request, by *attacker) bool {
		if isWatch(r) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		return pour(w, by, func(i int) string {
			if i == 0 {
				return `{"kind":"`
			}
			return filler
		})
	},
	"lists that never end": func(w http.ResponseWriter, r *http.Request, by *attacker) bool {
		if !strings.HasSuffix(r.URL.Path, "/deployments") && !strings.HasSuffix(r.URL.Path, "/secrets") {
			return false
		}
		if isWatch(r) { // so that the list is asked for
			http.Error(w, "no", http.StatusBadRequest)
			return true
		}
		w.Header().Set("Content-Type", "application/json")
		return pour(w, by, func(i int) string {
			if i == 0 {
				return `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{}`
			}
			return fmt.Sprintf(`,{"metadata":{"name":"n%d","namespace":"default","annotations":{"a":"%s"}}}`, i, filler)
		})
	},
	"pages that never end": func(w http.ResponseWriter, r *http.Request, by *attacker) bool {
		if !strings.HasSuffix(r.URL.Path, "/deployments") && !strings.HasSuffix(r.URL.Path, "/secrets") {
			return false
		}
		if isWatch(r) { // so that the list is asked for
			http.Error(w, "no", http.StatusBadRequest)
			return true
		}
		w.Header().Set("Content-Type", "application/json")
		kind := `"kind":"SecretList","apiVersion":"v1"`
		switch {
		case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
			kind = `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`
		case strings.HasSuffix(r.URL.Path, "/deployments"):
			kind = `"kind":"DeploymentList","apiVersion":"apps/v1"`
		}
		_, _ = fmt.Fprintf(w, `{%s,"metadata":{"resourceVersion":"1","continue":"%d"},"items":[{}`, kind, by.sent.Load())
		for i := range 320 {
			n, err := fmt.Fprintf(w, `,{"metadata":{"name":"n%d","namespace":"default","annotations":{"a":"%s"}}}`, i, filler)
			by.sent.Add(int64(n))
			if err != nil {
				return true
			}
		}
		_, _ = io.WriteString(w, "]}")
		return true
	},
	"lists of nothing, in JSON":      listsOf(nothingInJSON),
	"lists of nothing, in protobuf":  listsOf(nothingInProtobuf),
	"events of nothing, in protobuf": eventsOfNothing,
	"small events of much":           smallEventsOfMuch,
	"announcements that never end": func(w http.ResponseWriter, r *http.Request, by *attacker) bool {
		if !strings.HasPrefix(r.URL.Path, "/apis") || strings.Count(r.URL.Path, "/") > 3 {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis" {
			by.sent.Add(1)
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"x/v1","resources":[]}`)
			return true
		}
		_, _ = io.WriteString(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"x"}`)
		for i := range 300_000 {
			n, err := fmt.Fprintf(w, `,{"name":"g%d","versions":[{"groupVersion":"g%d/v1","version":"v1"}]}`, i, i)
			by.sent.Add(int64(n))
			if err != nil {
				return true
			}
		}
		_, _ = io.WriteString(w, "]}")
		return true
	},
	"floods of events": func(w http.ResponseWriter, r *http.Request, by *attacker) bool {
		if !isWatch(r) || !strings.HasSuffix(r.URL.Path, "/deployments") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		return pour(w, by, func(i int) string {
			return fmt.Sprintf(`{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"n%d","namespace":"default",`+
				`"uid":"%d","resourceVersion":"%d","annotations":{"a":"%s"}}}}`+"\n", i, i, i+1, filler)
		})
	},
	"events that never end": func(w http.ResponseWriter, r *http.Request, by *attacker) bool {
		if !isWatch(r) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		return pour(w, by, func(i int) string {
			if i == 0 {
				return `{"type":"ADDED","object":{"kind":"`
			}
			return filler
		})
	},
	"garbage": func(w http.ResponseWriter, r *http.Request, by *attacker) bool {
		w.Header().Set("Content-Type", "application/json")
		n, _ := io.WriteString(w, `{"kind": 3, "items": [[[`+"\x00\xff")
		by.sent.Add(int64(n))
		return true
	},
}

// stays are the attacks of which something could stay: in the caches, or in what the
// cluster is known to serve. A Cinder that becomes Ready shows that nothing did; of the
// others it is enough that the cluster is connected again, unless CINDER_SOAK is set.
var stays = map[string]bool{"announcements that never end": true, "floods of events": true, "lists of nothing, in JSON": true}

func TestHostileAnswersCostNeitherMemoryNorTheOthers(t *testing.T) {
	home, edge := lab.Targets["edge-1"], lab.Targets["edge-2"]
	ns := lab.Namespace(t, "siege", home, edge)
	lab.Register(t, "home", home)
	op := lab.StartOperator(t, quick...)
	fine := harness.Cinder(ns, "fine", "home")
	lab.Deploy(t, fine)
	lab.WaitReady(t, harness.ReadyTimeout, fine)
	before, _ := op.Memory(t)
	var stolen atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Store(true) }))
	t.Cleanup(elsewhere.Close)
	kinds := maps.Clone(attacks)
	kinds["redirects"] = func(w http.ResponseWriter, r *http.Request, _ *attacker) bool {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	}
	inUse := func() float64 { return op.Scrape(t).Sum("go_memstats_heap_alloc_bytes") / (1 << 20) }
	taken := func() float64 { return op.Scrape(t).Sum("go_memstats_heap_inuse_bytes") / (1 << 20) }
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(kind, func(t *testing.T) {
			op.ForgetPeak(t)
			by := &attacker{}
			by.on.Store(true)
			proxy := edge.Proxy(t)
			proxy.Override(func(w http.ResponseWriter, r *http.Request) bool { return by.on.Load() && kinds[kind](w, r, by) })
			name := fmt.Sprintf("hostile-%d", i)
			lab.Register(t, name, edge, harness.With(proxy.Kubeconfig(t)))
			tenant := harness.Cinder(ns, name, name)
			lab.Deploy(t, tenant)
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fine.Name}}
			slowest, most := time.Duration(0), 0.0
			attacked := func() bool { return by.sent.Load() > 0 || kind == "redirects" } // which have no content
			for began := time.Now(); time.Since(began) < siege || !attacked() && time.Since(began) < time.Minute; {
				deleted := time.Now()
				home.Delete(t, s.DeepCopy())
				harness.Eventually(t, repaired, "drift on the other cluster is repaired", func(ctx context.Context) error {
					return home.Client.Get(ctx, client.ObjectKeyFromObject(s), s)
				})
				slowest, most = max(slowest, time.Since(deleted)), max(most, taken())
				<-time.After(time.Until(deleted.Add(pause)))
			}
			_, peak := op.Memory(t)
			t.Logf("%d MiB were sent; heap: %.0f MiB at the peak; memory: %d MiB before, %d MiB at the peak; drift elsewhere was repaired within %s",
				by.sent.Load()>>20, most, before, peak, slowest.Round(10*time.Millisecond))
			if most > heap {
				t.Errorf("the operator's heap came to %.0f MiB, want at most %d", most, heap)
			}
			if peak-before > growth {
				t.Errorf("the operator's memory grew by %d MiB, want at most %d", peak-before, growth)
			}
			if !attacked() {
				t.Error("nothing was attacked")
			}
			if stolen.Load() {
				t.Error("a redirect was followed")
			}
			by.on.Store(false)
			if harness.Soak() || stays[kind] {
				lab.WaitReady(t, harness.ReadyTimeout, tenant)
			} else {
				lab.WaitReady(t, harness.ReadyTimeout, &v1alpha1.TargetCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ClustersNamespace}})
			}
			t.Logf("%.0f MiB are in use afterwards", inUse())
		})
	}
	// The collector has its own pace; what counts is that it can.
	harness.Eventually(t, 2*time.Minute, "the memory of the attacks is free again", func(context.Context) error {
		if n := inUse(); n > 100 {
			return fmt.Errorf("%.0f MiB are in use", n)
		}
		return nil
	})
}
