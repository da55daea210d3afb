// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// children answers the watch of ConfigMaps with n of ours, each of about the given size, and calls every between two. The
// initial events end with the last one, or with the first where there is every.
func children(t *testing.T, n, size int, every func(r *http.Request) bool) func(w http.ResponseWriter, r *http.Request) bool {
	t.Helper()
	codecs := serializer.NewCodecFactory(testScheme)
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("no protobuf")
	}
	objects := codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	events := codecs.EncoderForVersion(info.StreamSerializer.Serializer, corev1.SchemeGroupVersion)
	filler := strings.Repeat("x", size)
	tell := func(w io.Writer, what watch.EventType, cm *corev1.ConfigMap) error {
		raw, err := runtime.Encode(objects, cm)
		if err != nil {
			return err
		}
		return events.Encode(&metav1.WatchEvent{Type: string(what), Object: runtime.RawExtension{Raw: raw}}, w)
	}
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/configmaps" {
			return false
		}
		if r.URL.Query().Get("watch") == "" {
			http.Error(w, "only watches here", http.StatusMethodNotAllowed)
			return true
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
		frames, flush := info.StreamSerializer.Framer.NewFrameWriter(w), http.NewResponseController(w)
		for i := range n {
			cm := &corev1.ConfigMap{}
			cm.Namespace, cm.Name, cm.UID = "default", fmt.Sprintf("child-%d", i), types.UID(strconv.Itoa(i))
			cm.ResourceVersion, cm.Labels, cm.Data = strconv.Itoa(i+1), ours, map[string]string{"x": filler}
			if err := tell(frames, watch.Added, cm); err != nil {
				return true
			}
			if i == n-1 || every != nil && i == 0 {
				end := &corev1.ConfigMap{}
				end.ResourceVersion, end.Annotations = cm.ResourceVersion, map[string]string{metav1.InitialEventsAnnotationKey: "true"}
				_ = tell(frames, watch.Bookmark, end)
			}
			if every != nil {
				_ = flush.Flush()
				if !every(r) {
					return true
				}
			}
		}
		_ = flush.Flush()
		<-r.Context().Done()
		return true
	}
}

func TestALargeFleetOfChildrenConnects(t *testing.T) {
	s := newStage(t, targetConfig, children(t, 5000, 20<<10, nil))
	f := newFleet(t, func(o *Options) {
		o.Timing = Timing{SyncTimeout: 5 * time.Minute} // else the real one; the race detector takes its time
	})
	began := time.Now()
	f.register("edge", s.kubeconfig(t))
	var target Target
	eventually(t, 5*time.Minute, func(context.Context) error {
		var err error
		target, err = f.resolve("edge", "default")
		return err
	})
	list := &corev1.ConfigMapList{}
	if err := target.Client().List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	conn := target.(*connection)
	t.Logf("%d children, weighed as %d MiB, are cached %s after the registration", len(list.Items), conn.informers.health.weight()>>20, time.Since(began).Round(time.Second))
	if len(list.Items) != 5000 {
		t.Errorf("%d are cached", len(list.Items))
	}
	if e := conn.excess(); e != nil {
		t.Errorf("too much: %v", e)
	}
}

func TestAClusterThatSendsTooMuchIsToldSoAndServedWhenItNoLongerDoes(t *testing.T) {
	leave := func(http.ResponseWriter, *http.Request) bool { return false }
	slowly := func(r *http.Request) bool { return wait(r.Context(), 20*time.Millisecond, nil) }
	for _, tt := range []struct {
		name   string
		limits Limits
		act    func(http.ResponseWriter, *http.Request) bool
		serves bool // at first
		words  string
	}{
		{
			"a first synchronisation", Limits{Watches: 2 << 20, WatchRate: 1 << 10}, children(t, 100, 64<<10, nil), false,
			"its watches bring more than the 2 MiB that are taken of one cluster at once, or 1 KiB a second in the long run",
		},
		{
			"an answer", Limits{Answers: 1 << 20}, func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/apis" {
					return false
				}
				for range 40 {
					_, _ = io.WriteString(w, strings.Repeat(" ", 64<<10))
				}
				return true
			}, false,
			"its answers are larger than the 1 MiB that are read of one cluster at a time",
		},
		{
			"a slow flood", Limits{Cached: 4 << 20}, children(t, 1_000_000, 64<<10, slowly), true,
			"the objects to be kept of it are larger than the 4 MiB that are kept of one cluster",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, func(o *Options) {
				o.Limits = tt.limits
				o.ProbeTimeout, o.CallTimeout, o.SyncTimeout = 5*time.Second, 5*time.Second, time.Minute
			})
			s := newStage(t, targetConfig, tt.act)
			f.register("edge", s.kubeconfig(t))
			if tt.serves {
				f.connected("edge")
			}
			awaitExcess(f, "edge", tt.words, excessRemedy)
			if len(f.recorded("ClusterUnreachable CacheSyncFailed: "+tt.words)) == 0 {
				t.Errorf("events: %v", f.recorded(""))
			}
			s.act.Store(&leave)
			s.CloseClientConnections()
			f.connected("edge")
			f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
		})
	}
}

// awaitExcess waits until a cluster is given up for what it sends, in those words and with that remedy.
func awaitExcess(f *fleet, name, words, remedy string) {
	f.t.Helper()
	tc := f.shows(name, v1alpha1.ConditionConnected, string(phaseSyncFailed))
	c := meta.FindStatusCondition(tc.Status.Conditions, v1alpha1.ConditionConnected)
	if want := words + "; " + remedy; c.Message != want {
		f.t.Errorf("the condition says %q, want %q", c.Message, want)
	}
	message := f.unavailable(name, CauseUnreachable)
	if !strings.HasPrefix(message, fmt.Sprintf("target cluster %q is unreachable since ", name)) || !strings.HasSuffix(message, words+"; "+remedy) {
		f.t.Errorf("Resolve says %q", message)
	}
}

func TestWhatIsHeldWeighsWhatItDoesAndNothingWhenItIsGone(t *testing.T) {
	h := newWatchHealth(testScheme)
	grown := 0
	h.grown = func() { grown++ }
	informer := h.newInformer(&toolscache.ListWatch{}, &corev1.ConfigMap{}, 0, toolscache.Indexers{}).(*countedInformer)
	told := 0
	count := toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { told++ }, UpdateFunc: func(_, _ any) { told++ }, DeleteFunc: func(any) { told++ }}
	first := informer.weighing(count)
	second := informer.weighing(count)
	sized := func(n int) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Data: map[string]string{"x": strings.Repeat("x", n)}}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"list": []any{strings.Repeat("x", 5000), int64(1)}}}}
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	for _, handler := range []toolscache.ResourceEventHandler{first, second} { // the second weighs nothing again
		handler.OnAdd(sized(1000), true)
		handler.OnUpdate(sized(1000), sized(9000))
		handler.OnAdd(u, false)
		handler.OnAdd(m, false)
	}
	if got := h.weight(); got < 9000+5000+3*objectCost || got > 9000+5000+5*objectCost {
		t.Errorf("it weighs %d", got)
	}
	if grown != 4 {
		t.Errorf("it is told %d times that there is more, want 4", grown)
	}
	first.OnUpdate(sized(9000), sized(8000))
	first.OnUpdate(sized(8000), sized(8000))
	second.OnUpdate(sized(9000), sized(8000))
	if grown != 4 {
		t.Error("it is told that there is more when there is less, or the same")
	}
	for _, obj := range []client.Object{sized(8000), u, m} {
		first.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "default/x", Obj: obj})
		second.OnDelete(obj)
	}
	if got := h.weight(); got != 0 || told != 17 {
		t.Errorf("it weighs %d when all is gone; told %d times", got, told)
	}
}

func TestContentThatNoAPIServerStoresIsNotKept(t *testing.T) {
	f := newFleet(t)
	huge := strings.Repeat("eHh4", 1<<20)
	name := types.NamespacedName{Namespace: newNamespace(t, targetAdmin), Name: "input"}
	if err := targetAdmin.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}); err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/namespaces/" + name.Namespace + "/secrets/" + name.Name
	s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != path {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"input","namespace":%q,"uid":"1","resourceVersion":"1"},"data":{"x":%q}}`, name.Namespace, huge)
		return true
	})
	f.register("edge", s.kubeconfig(t))
	target := f.connected("edge")
	in := target.Inputs().(*inputs)
	eventually(t, 20*time.Second, func(ctx context.Context) error { // until it is watched
		secret, err := target.Inputs().Secret(ctx, name)
		if err != nil {
			return err
		}
		if len(secret.Data["x"]) != 3<<20 {
			return fmt.Errorf("%d bytes were read", len(secret.Data["x"]))
		}
		if _, watched := in.spaces.get(kindKey{gvkSecret, true}, name); !watched {
			return errNotYet
		}
		return nil
	})
	if _, err := target.Inputs().Secret(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.memo) != 0 {
		t.Errorf("%d objects are kept", len(in.memo))
	}
}
