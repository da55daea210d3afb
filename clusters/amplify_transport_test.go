// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// answered is a client of a server that answers everything with the same.
func answered(t *testing.T, limits Limits, media, content string) (client.WithWatch, *transport) {
	t.Helper()
	s, reg := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, content)
		if isWatch(r) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	life, end := context.WithCancel(context.Background())
	tr, err := newTransport(life, reg, Timing{CallTimeout: time.Minute, WatchTimeout: time.Minute}, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		tr.close()
	})
	tr.intake = newIntake(limits)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	c, err := client.NewWithWatch(&rest.Config{Host: s.URL, Transport: tr}, client.Options{Scheme: testScheme, Mapper: mapper, HTTPClient: &http.Client{Transport: tr}})
	if err != nil {
		t.Fatal(err)
	}
	return c, tr
}

// heapWhile answers what the heap came to at the most while something was done, in MiB.
func heapWhile(do func()) uint64 {
	goruntime.GC()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	most, m := uint64(0), goruntime.MemStats{}
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		goruntime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc>>20)
		select {
		case <-done:
			tick.Stop()
			return most
		case <-tick.C:
		}
	}
}

// framed is an event of a watch in protobuf.
func framed(object string) string {
	event := field(1, string(watch.Added)) + field(2, field(1, object))
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(event)))) + event
}

func TestWhatWouldFillTheMemoryIsNotDecoded(t *testing.T) {
	const n, containers, bound, heap = 60_000, 150_000, 64 << 20, 60 // the heap in MiB
	ofOne := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"x","namespace":"default"},"spec":{"template":{"spec":{"containers":[{}` + strings.Repeat(",{}", containers) + `]}}}}`
	inProtobuf := ofKind("apps/v1", "Deployment", field(2, field(3, field(2, strings.Repeat(field(2), containers)))))
	for _, tt := range []struct {
		name, media, content string
		watches              bool
	}{
		{"a list in JSON", runtime.ContentTypeJSON, `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{}` + strings.Repeat(",{}", n) + "]}", false},
		{"a list in protobuf", runtime.ContentTypeProtobuf, ofKind("apps/v1", "DeploymentList", strings.Repeat(field(2), n)), false},
		{"a list that does not say what it is", "", ofKind("apps/v1", "DeploymentList", strings.Repeat(field(2), n)), false},
		{"an event in JSON", runtime.ContentTypeJSON, `{"type":"ADDED","object":` + ofOne + "}\n", true},
		{"an event in protobuf", runtime.ContentTypeProtobuf, framed(inProtobuf), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			read := func(limits Limits) (uint64, *transport, error) {
				c, tr := answered(t, limits, tt.media, tt.content)
				told := 0
				tr.intake.exceeded = func(*excess) { told++ }
				list := &appsv1.DeploymentList{}
				var err error
				most := heapWhile(func() {
					if !tt.watches {
						err = c.List(t.Context(), list)
						return
					}
					var w watch.Interface
					if w, err = c.Watch(t.Context(), list); err != nil {
						return
					}
					defer w.Stop()
					if event := <-w.ResultChan(); event.Type == watch.Error {
						err = errNotYet
					}
				})
				if (told > 0) != (err != nil) {
					t.Errorf("told %d times of an excess, and it ended with %v", told, err)
				}
				return most, tr, err
			}
			most, tr, err := read(Limits{Decoded: bound})
			t.Logf("%d KiB are sent; the heap came to %d MiB; it ended with %v", len(tt.content)>>10, most, err)
			var tagged *transportError
			switch {
			case err == nil:
				t.Error("it was decoded")
			case tt.watches != (tr.intake.flood.Load() != nil):
				t.Errorf("the flood is %v", tr.intake.flood.Load())
			case !tt.watches && (!errors.Is(err, errTooMuch) || !errors.As(err, &tagged)):
				t.Errorf("it ended with %v", err)
			case tt.watches && !errors.Is(tr.intake.flood.Load(), errTooMuch):
				t.Errorf("the flood is %v", tr.intake.flood.Load())
			}
			if most > heap {
				t.Errorf("the heap came to %d MiB, want at most %d", most, heap)
			}
			if tt.media != runtime.ContentTypeProtobuf {
				return
			}
			most, _, err = read(Limits{Decoded: 1 << 50})
			t.Logf("without a bound it came to %d MiB", most)
			if err != nil || most <= heap {
				t.Errorf("without a bound it came to %d MiB, and ended with %v", most, err)
			}
		})
	}
}

func TestWhatIsWeighedArrivesAsItWasSent(t *testing.T) {
	page := honest(40)
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		c, _ := answered(t, Limits{}, media, string(inEncoding(t, media, page)))
		list := &appsv1.DeploymentList{}
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != len(page.Items) || list.Items[39].Name != page.Items[39].Name || len(list.Items[39].Spec.Template.Spec.Containers) != 3 {
			t.Errorf("in %s %d arrive", media, len(list.Items))
		}

		stream := &strings.Builder{}
		for i := range page.Items {
			one := string(inEncoding(t, media, &page.Items[i]))
			if media == runtime.ContentTypeProtobuf {
				stream.WriteString(framed(one))
				continue
			}
			stream.WriteString(`{"type":"ADDED","object":` + one + "}\n")
		}
		c, _ = answered(t, Limits{}, media, stream.String())
		w, err := c.Watch(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Items {
			event := <-w.ResultChan() // it waits for no more than what was sent
			if d, ok := event.Object.(*appsv1.Deployment); !ok || d.Name != page.Items[i].Name {
				t.Fatalf("in %s event %d is %+v", media, i, event)
			}
		}
		w.Stop()
	}
}

func TestYAMLIsNotDecoded(t *testing.T) {
	c, _ := answered(t, Limits{}, runtime.ContentTypeYAML, "kind: DeploymentList\napiVersion: apps/v1\nitems:\n- {}\n")
	list := &appsv1.DeploymentList{}
	if err := c.List(t.Context(), list); err == nil || len(list.Items) != 0 {
		t.Errorf("%d items, %v", len(list.Items), err)
	}
}

func TestTheAnswerOfAServiceIsNotWeighed(t *testing.T) {
	s, reg := tlsServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = io.WriteString(w, ofKind("apps/v1", "DeploymentList", strings.Repeat(field(2), 1_000_000)))
	})
	c, tr, _ := clientFor(t, reg, true)
	tr.timing = Timing{CallTimeout: time.Minute, WatchTimeout: time.Minute}
	tr.intake = newIntake(Limits{Decoded: 1})
	resp, err := get(t, c, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if n, err := io.ReadFull(resp.Body, make([]byte, serviceBody)); err != nil {
		t.Errorf("after %d bytes it ended with %v", n, err)
	}
}

func TestWhatAClusterSendsMayBecomeMoreInTheLongRunThanAtOnce(t *testing.T) {
	i := newIntake(Limits{})
	i.exceeded = func(*excess) { t.Error("it counts as an excess") }
	now := i.decodedAnswers.at
	for range 100 {
		now = now.Add(10 * time.Second)
		if err := errors.Join(i.answerDecoded(256<<20, now), i.eventDecoded(256<<20, now)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADiscoveryHasAShareOfItsOwn(t *testing.T) {
	content := ofKind("apps/v1", "DeploymentList", strings.Repeat(field(2), 10_000))
	s, reg := tlsServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = io.WriteString(w, content)
	})
	_, tr, _ := clientFor(t, reg, true)
	tr.timing = Timing{CallTimeout: time.Minute, WatchTimeout: time.Minute}
	tr.intake = newIntake(Limits{Decoded: 1})
	read := func(next http.RoundTripper) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", runtime.ContentTypeProtobuf)
		resp, err := next.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		got, err := io.ReadAll(resp.Body)
		return len(got), err
	}
	if _, err := read(tr); !errors.Is(err, errTooMuch) || errors.Is(err, errAnnounced) {
		t.Errorf("a list ended with %v", err)
	}
	d := &discoveryTransport{next: tr, ctx: t.Context(), becomes: newBucket(announcedDecoded, 0)}
	if n, err := read(d); n != len(content) || err != nil {
		t.Errorf("after %d bytes a discovery ended with %v", n, err)
	}
	d.becomes = newBucket(1, 0)
	if _, err := read(d); !errors.Is(err, errAnnounced) {
		t.Errorf("a discovery of too much ended with %v", err)
	}
}

// Each of these events is small, and what it becomes is not: thousands fit into what watches may bring at once.
func manyOwners(n int) string {
	owners := strings.Repeat(field(13), 2_000)
	var all strings.Builder
	for i := range n {
		all.WriteString(framed(ofKind("v1", "ConfigMap", field(1, field(1, fmt.Sprintf("n%d", i)), field(3, "default"), owners))))
	}
	return all.String()
}

func TestAClusterWhoseAnswersWouldFillTheMemoryIsToldSo(t *testing.T) {
	nothing := ofKind("v1", "ConfigMapList", strings.Repeat(field(2), 200_000))
	owners := ofKind("v1", "ConfigMap", field(1, strings.Repeat(field(13), 400_000)))
	// The less is taken, the quicker it is too much.
	little, keepLittle := Limits{Decoded: 32 << 20}, Limits{Cached: 32 << 20}
	decoded, kept := newIntake(little).amplified(), newIntake(keepLittle).cached(1<<30)
	for _, tt := range []struct {
		name, content string
		watches       bool
		limits        Limits
		want          *excess
	}{
		{"lists", nothing, false, little, decoded},
		{"events", framed(owners), true, little, decoded},
		{"many small events", manyOwners(1_000), true, keepLittle, kept},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, func(o *Options) {
				o.ProbeTimeout, o.CallTimeout, o.SyncTimeout = 10*time.Second, 10*time.Second, time.Minute
				o.Limits = tt.limits
			})
			s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case r.URL.Path != "/api/v1/configmaps":
					return false
				case !tt.watches && isWatch(r):
					http.Error(w, "only lists here", http.StatusBadRequest)
					return true
				}
				w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
				_, _ = io.WriteString(w, tt.content)
				return true
			})
			f.register("edge", s.kubeconfig(t))
			awaitExcess(f, "edge", tt.want.words, excessRemedy)
			leave := func(http.ResponseWriter, *http.Request) bool { return false }
			s.act.Store(&leave)
			f.connected("edge")
			f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
		})
	}
}
