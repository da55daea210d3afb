// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// endlessPages answers the lists at a path with one page after the other, and refuses watches there, so that lists are
// asked for.
func endlessPages(path, kind, version, items string, pages *pageCount) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != path {
			return false
		}
		if isWatch(r) {
			http.Error(w, "no", http.StatusBadRequest)
			return true
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"1","continue":"%d"},"items":[%s]}`, kind, version, pages.took(r), items)
		return true
	}
}

// pageCount counts the pages of the list that is being read, and of the longest one.
type pageCount struct{ now, most atomic.Int64 }

// took counts a page and answers how many there were of its list. One list is read at a time, but for that of an attempt
// which is being given up.
func (c *pageCount) took(r *http.Request) int64 {
	if r.URL.Query().Get("continue") == "" {
		c.now.Store(0)
	}
	n := c.now.Add(1)
	for {
		most := c.most.Load()
		if n <= most || c.most.CompareAndSwap(most, n) {
			return n
		}
	}
}

func TestAListWhosePagesNeverEndIsTooMuch(t *testing.T) {
	large := fmt.Sprintf(`{"metadata":{"name":"x","namespace":"default","annotations":{"x":%q}}}`, strings.Repeat("x", 256<<10))
	inUse := newNamespace(t, targetAdmin)
	for _, tt := range []struct {
		name, path, kind, version, items string
		most                             int64 // pages of one list
		serves                           bool  // at first
	}{
		{"of children", "/api/v1/configmaps", "ConfigMapList", "v1", large, 10, false},
		{"of children, without content", "/api/v1/configmaps", "ConfigMapList", "v1", "", 20, false},
		{"of what users own", "/api/v1/namespaces/" + inUse + "/secrets", "PartialObjectMetadataList", "meta.k8s.io/v1", large, 10, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var pages pageCount
			f := newFleet(t, func(o *Options) {
				o.Limits = Limits{Cached: 2 << 20}
				o.ProbeTimeout, o.CallTimeout, o.SyncTimeout, o.RetryMax = 5*time.Second, 5*time.Second, time.Minute, 2*time.Second
				o.NamespacesInUse = func(context.Context, string) ([]string, error) { return []string{inUse}, nil }
			})
			s := newStage(t, targetConfig, endlessPages(tt.path, tt.kind, tt.version, tt.items, &pages))
			f.register("edge", s.kubeconfig(t))
			if tt.serves {
				f.connected("edge")
			}
			awaitExcess(f, "edge", "the objects to be kept of it are larger than the 2 MiB that are kept of one cluster", excessRemedy)
			if n := pages.most.Load(); n == 0 || n > 2*tt.most {
				t.Errorf("%d pages of one list were taken", n)
			}
			leave := func(http.ResponseWriter, *http.Request) bool { return false }
			s.act.Store(&leave)
			f.connected("edge")
			f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
		})
	}
}

func TestAListIsBoundedOverAllItsPages(t *testing.T) {
	in := newIntake(Limits{Cached: 1 << 20})
	bounds := &callBounds{intake: in, list: time.Minute}
	page := func(next string, size int) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		return func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.ConfigMapList{
				ListMeta: metav1.ListMeta{Continue: next}, Items: []corev1.ConfigMap{{Data: map[string]string{"x": strings.Repeat("x", size)}}},
			}, nil
		}
	}
	read := func(calls *boundedCalls, next string, size int, opts metav1.ListOptions) error {
		_, err := calls.list(page(next, size))(t.Context(), opts)
		return err
	}
	one, other := bounds.forInformer(), bounds.forInformer()
	goesOn := metav1.ListOptions{Continue: "more"}
	for _, step := range []struct {
		calls   *boundedCalls
		next    string
		size    int
		opts    metav1.ListOptions
		tooMuch bool
		left    int64 // at the least, of what counts
	}{
		{one, "", 4 << 20, metav1.ListOptions{}, false, 0}, // a page that nothing follows is no matter of pages
		{one, "more", 400 << 10, metav1.ListOptions{}, false, 400 << 10},
		{other, "more", 400 << 10, metav1.ListOptions{}, false, 800 << 10},
		{one, "", 400 << 10, goesOn, false, 400 << 10},
		{one, "more", 500 << 10, metav1.ListOptions{}, false, 900 << 10},
		{one, "more", 1, metav1.ListOptions{}, false, 400<<10 + pageCost}, // another list, in place of the last
		{one, "more", 600 << 10, goesOn, true, 400 << 10},
	} {
		err := read(step.calls, step.next, step.size, step.opts)
		if step.tooMuch != errors.Is(err, errTooMuch) || !step.tooMuch && err != nil {
			t.Errorf("%+v: %v", step, err)
		}
		if n := in.pages.Load(); n < step.left || n > step.left+20<<10 {
			t.Errorf("%+v: %d bytes count", step, n)
		}
	}
	other.end()
	if n := in.pages.Load(); n != 0 || in.flood.Load() == nil {
		t.Errorf("%d bytes count when no list is read; the excess is %v", n, in.flood.Load())
	}

	in = newIntake(Limits{Cached: 1 << 50}) // the time is over first
	bounds.intake, bounds.list = in, 100*time.Millisecond
	slow := bounds.forInformer()
	err := read(slow, "more", 1, metav1.ListOptions{})
	for began := time.Now(); err == nil && time.Since(began) < 5*time.Second; {
		err = read(slow, "more", 1, goesOn)
	}
	if !errors.Is(err, errDeadline) || in.pages.Load() != 0 {
		t.Errorf("pages that go on for long end with %v; %d bytes count", err, in.pages.Load())
	}
}

func TestTheFirstEventsOfAWatchAreBoundedUntilTheBookmark(t *testing.T) {
	in := newIntake(Limits{Cached: 1 << 20})
	calls := (&callBounds{intake: in, list: time.Minute}).forInformer()
	added := func() watch.Event {
		return watch.Event{Type: watch.Added, Object: &corev1.ConfigMap{Data: map[string]string{"x": strings.Repeat("x", 400<<10)}}}
	}
	bookmark := watch.Event{Type: watch.Bookmark, Object: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}},
	}}
	send := func(events ...watch.Event) []watch.EventType {
		source := watch.NewFakeWithChanSize(len(events), false)
		for _, ev := range events {
			source.Action(ev.Type, ev.Object)
		}
		source.Stop()
		var got []watch.EventType
		for ev := range calls.first(source).ResultChan() {
			got = append(got, ev.Type)
		}
		return got
	}
	if got := send(added(), added(), bookmark, added(), added(), added()); len(got) != 6 || in.pages.Load() != 0 || in.flood.Load() != nil {
		t.Errorf("there came %v; %d bytes count; the excess is %v", got, in.pages.Load(), in.flood.Load())
	}
	if got := send(added(), added()); len(got) != 2 || in.pages.Load() < 800<<10 {
		t.Errorf("of a watch that broke off there came %v; %d bytes count", got, in.pages.Load())
	}
	got := send(added(), added(), added(), added(), bookmark)
	if !slices.Equal(got, []watch.EventType{watch.Added, watch.Added, watch.Error}) || in.flood.Load() == nil {
		t.Errorf("of too much there came %v; the excess is %v", got, in.flood.Load())
	}
	calls.end()
	if n := in.pages.Load(); n != 0 {
		t.Errorf("%d bytes count on", n)
	}

	// One that was stopped is drained, beside the next or after the informer has ended.
	source := watch.NewFakeWithChanSize(2, false)
	stopped := calls.first(source)
	calls.begin()
	if err := in.page(100); err != nil {
		t.Fatal(err)
	}
	calls.taken = 100
	source.Action(watch.Added, added().Object)
	source.Action(watch.Bookmark, bookmark.Object)
	source.Stop()
	for range stopped.ResultChan() {
	}
	if n := in.pages.Load(); n != 100 {
		t.Errorf("beside the events of a watch that was stopped %d bytes count, want 100", n)
	}
	calls.end()
	if n := in.pages.Load(); n != 0 {
		t.Errorf("%d bytes count after the end", n)
	}
}

// throttled are ways to tell a watch that there are too many requests.
var throttled = map[string]func(w http.ResponseWriter){
	"as the answer": func(w http.ResponseWriter) { http.Error(w, "too many requests", http.StatusTooManyRequests) },
	"in the watch": func(w http.ResponseWriter) {
		status := apierrors.NewTooManyRequestsError("too many requests").Status()
		status.Kind, status.APIVersion = "Status", "v1"
		object, _ := json.Marshal(status)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"type":"ERROR","object":%s}`, object)
	},
}

func TestAClusterThatWantsFewerRequestsHoldsNoEndUp(t *testing.T) {
	for name, answer := range throttled {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var watches atomic.Int64
			forgotten := make(chan string, 1)
			f := newFleet(t, func(o *Options) {
				o.SyncTimeout = time.Minute
				o.Forgotten = func(cluster string) { forgotten <- cluster }
			})
			s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
				if !isWatch(r) {
					return false
				}
				if r.URL.Path == "/api/v1/configmaps" {
					watches.Add(1)
				}
				answer(w)
				return true
			})
			// By the third watch the pause after it is more than three seconds.
			paused := func() {
				watches.Store(0)
				eventually(t, 30*time.Second, func(context.Context) error {
					if n := watches.Load(); n < 3 {
						return fmt.Errorf("%d watches", n)
					}
					return nil
				})
			}
			registration := f.register("edge", s.kubeconfig(t))
			paused()
			began := time.Now()
			if err := hubAdmin.Delete(t.Context(), registration); err != nil {
				t.Fatal(err)
			}
			<-forgotten
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("the deregistration ended after %s", took)
			}
			f.register("edge", s.kubeconfig(t))
			paused()
			began = time.Now()
			f.stop()
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("the registry ended after %s", took)
			}
		})
	}
}

func TestAClusterThatWantsFewerWatchesIsServedByLists(t *testing.T) {
	s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("sendInitialEvents") == "" {
			return false
		}
		throttled["in the watch"](w)
		return true
	})
	f := newFleet(t)
	cm := child(t, newNamespace(t, targetAdmin), "throttled")
	f.register("edge", s.kubeconfig(t))
	target := f.connected("edge")
	if err := target.Client().Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
		t.Error(err)
	}
}

func TestWatchesThatEndAtOnceAreNotOpenedAsFast(t *testing.T) {
	const rate = 2 * time.Second
	var watches atomic.Int64
	s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/configmaps" || !isWatch(r) {
			return false
		}
		watches.Add(1)
		w.Header().Set("Content-Type", "application/json")
		for _, event := range []string{
			`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"default","uid":"1","resourceVersion":"1"}}}`,
			`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"` + metav1.InitialEventsAnnotationKey + `":"true"}}}}`,
			`{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"default","uid":"1","resourceVersion":"2"}}}`,
		} {
			_, _ = io.WriteString(w, event+"\n")
		}
		return true
	})
	f := newFleet(t)
	f.register("edge", s.kubeconfig(t))
	conn := f.connected("edge")
	eventually(t, 20*time.Second, func(context.Context) error {
		if n := watches.Load(); n < watchBurst {
			return fmt.Errorf("%d watches", n)
		}
		return nil
	})
	before, began := watches.Load(), time.Now()
	wait(t.Context(), rate, nil)
	n, took := watches.Load()-before, time.Since(began)
	if n > int64(took.Seconds())+2 {
		t.Errorf("%d watches were opened in %s", n, took)
	}
	if f.connected("edge") != conn {
		t.Error("the connection was replaced")
	}
}
