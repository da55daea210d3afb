// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// widget is an optional kind of the tests; its CRD comes and goes.
var widget = schema.GroupVersionKind{Group: "widgets.example.org", Version: "v1", Kind: "Widget"}

var ours = labels.Set{"openstack.c5c3.io/owner-kind": "Cinder"}

func childKinds() []ChildKind {
	w := &unstructured.Unstructured{}
	w.SetGroupVersionKind(widget)
	return []ChildKind{{Object: &corev1.Secret{}}, {Object: &corev1.ConfigMap{}}, {Object: &appsv1.Deployment{}}, {Object: w, Optional: true}}
}

// quick is a timing that makes every transition a matter of a second or two.
func quick() Timing {
	return Timing{
		ConnectGrace: 3 * time.Second, ProbeInterval: 200 * time.Millisecond, ProbeTimeout: 500 * time.Millisecond, ProbeFailures: 3,
		DiscoverEvery: 3, CallTimeout: time.Second, WatchTimeout: 2 * time.Second, SyncTimeout: 5 * time.Second,
		RetryMin: 100 * time.Millisecond, RetryMax: 500 * time.Millisecond,
	}
}

// fleet is a registry on the hub, with what it said.
type fleet struct {
	*Registry
	t         *testing.T
	namespace string
	metrics   *prometheus.Registry
	stop      func()
	// hubConfig is how the registry reaches the hub, if not as its administrator.
	hubConfig *rest.Config

	mu      sync.Mutex
	changes map[string]int
	objects []Event
	events  []string
}

// Eventf records what the registry says of its registrations.
func (f *fleet) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	ref, ok := regarding.(*corev1.ObjectReference)
	if !ok {
		f.t.Errorf("an event on a %T", regarding)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, fmt.Sprintf("%s/%s %s %s %s", ref.Kind, ref.Name, kind, reason, fmt.Sprintf(note, args...)))
}

func newFleet(t *testing.T, change ...func(*Options)) *fleet {
	t.Helper()
	f := idleFleet(t, change...)
	f.start()
	return f
}

// idleFleet makes a registry with a clusters namespace of its own, and does not start it.
func idleFleet(t *testing.T, change ...func(*Options)) *fleet {
	t.Helper()
	f := &fleet{t: t, namespace: newNamespace(t, hubAdmin), metrics: prometheus.NewRegistry(), changes: map[string]int{}}
	opts := Options{
		Scheme: testScheme, ClustersNamespace: f.namespace, AllowLocal: true, Timing: quick(), Children: childKinds(),
		ChildSelector: labels.SelectorFromSet(ours), Recorder: f, Metrics: f.metrics,
	}
	for _, c := range change {
		c(&opts)
	}
	var err error
	if f.Registry, err = New(opts); err != nil {
		t.Fatal(err)
	}
	return f
}

// start runs the registry and a hub cluster, as a manager does, until stop or the end of the test.
func (f *fleet) start() {
	f.t.Helper()
	cfg := hubConfig
	if f.hubConfig != nil {
		cfg = f.hubConfig
	}
	hub, err := cluster.New(cfg, func(o *cluster.Options) {
		o.Scheme = testScheme
		o.NewCache = NewCache(f.opts.Children, f.opts.ChildSelector, &v1alpha1.Cinder{})
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.SetHub(hub); err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.listen(ctx)
	var wg sync.WaitGroup
	run := func(what string, start func(context.Context) error) {
		wg.Go(func() {
			if err := start(ctx); err != nil {
				f.t.Errorf("%s: %v", what, err)
			}
		})
	}
	run("hub", hub.Start)
	run("registry", func(ctx context.Context) error { return f.Start(ctx, nil) })
	f.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	f.t.Cleanup(f.stop)
}

// listen takes the sources as a controller does.
func (f *fleet) listen(ctx context.Context) {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[mcreconcile.Request]())
	f.t.Cleanup(q.ShutDown)
	changes := f.Changes(func(_ context.Context, name string) []reconcile.Request {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changes[name]++
		return nil
	})
	objects := f.Objects(func(_ context.Context, ev Event) []reconcile.Request {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.objects = append(f.objects, ev)
		return nil
	})
	for _, src := range []interface {
		Start(context.Context, workqueue.TypedRateLimitingInterface[mcreconcile.Request]) error
	}{changes, objects} {
		if err := src.Start(ctx, q); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fleet) changed(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes[name]
}

// saw answers how often an object of that name was told of since the test looked last with forget.
func (f *fleet) saw(cluster, name string, metadata bool) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, ev := range f.objects {
		_, isMeta := ev.Object.(*metav1.PartialObjectMetadata)
		if ev.Cluster == cluster && ev.Object.GetName() == name && isMeta == metadata {
			n++
		}
	}
	return n
}

func (f *fleet) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects = nil
}

func (f *fleet) recorded(part string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, e := range f.events {
		if strings.Contains(e, part) {
			out = append(out, e)
		}
	}
	return out
}

func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// kubeconfig is the administrator's of an API server, at another address if one is given.
func kubeconfig(t *testing.T, cfg *rest.Config, server string, change ...func(cluster, user fields)) []byte {
	t.Helper()
	if server == "" {
		server = cfg.Host
	}
	c := fields{"server": server, "certificate-authority-data": encode(cfg.CAData)}
	u := fields{"client-certificate-data": encode(cfg.CertData), "client-key-data": encode(cfg.KeyData)}
	for _, f := range change {
		f(c, u)
	}
	return marshal(t, fields{
		"current-context": "main",
		"contexts":        []any{fields{"name": "main", "context": fields{"cluster": "c", "user": "u"}}},
		"clusters":        []any{fields{"name": "c", "cluster": c}},
		"users":           []any{fields{"name": "u", "user": u}},
	})
}

func withToken(token string) func(cluster, user fields) {
	return func(_, user fields) {
		clear(user)
		user["token"] = token
	}
}

// register writes a registration, over the one there may be.
func (f *fleet) register(name string, kubeconfig []byte, more ...map[string]string) *corev1.Secret {
	f.t.Helper()
	s := &corev1.Secret{}
	s.Namespace, s.Name = f.namespace, name
	s.Labels = map[string]string{v1alpha1.LabelKubeconfig: "true"}
	s.Data = map[string][]byte{v1alpha1.RegistrationKeyKubeconfig: kubeconfig}
	for _, m := range more {
		for k, v := range m {
			s.Data[k] = []byte(v)
		}
	}
	want := s.DeepCopy()
	err := hubAdmin.Get(f.t.Context(), client.ObjectKeyFromObject(s), s)
	switch {
	case client.IgnoreNotFound(err) != nil:
		f.t.Fatal(err)
	case err != nil:
		if err := hubAdmin.Create(f.t.Context(), want); err != nil {
			f.t.Fatal(err)
		}
		return want
	}
	s.Labels, s.Data = want.Labels, want.Data
	if err := hubAdmin.Update(f.t.Context(), s); err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *fleet) resolve(name, namespace string) (Target, error) {
	return f.Resolve(f.t.Context(), &v1alpha1.TargetClusterRefSpec{Name: name}, namespace)
}

// connected waits until the cluster resolves.
func (f *fleet) connected(name string) Target {
	f.t.Helper()
	var got Target
	eventually(f.t, 20*time.Second, func(context.Context) error {
		var err error
		got, err = f.resolve(name, "default")
		return err
	})
	return got
}

// unavailable waits until the cluster resolves to an error of that cause, and answers its message.
func (f *fleet) unavailable(name string, cause UnavailableCause) string {
	f.t.Helper()
	message := ""
	eventually(f.t, 20*time.Second, func(context.Context) error {
		_, err := f.resolve(name, "default")
		u, ok := AsUnavailable(err)
		if !ok || u.Cause != cause {
			return fmt.Errorf("got %w, want %s", err, cause)
		}
		message = u.Message
		return nil
	})
	return message
}

func (f *fleet) targetCluster(ctx context.Context, name string) (*v1alpha1.TargetCluster, error) {
	tc := &v1alpha1.TargetCluster{}
	return tc, hubAdmin.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, tc)
}

// shows waits until the TargetCluster has a condition with that reason.
func (f *fleet) shows(name, condition, reason string) *v1alpha1.TargetCluster {
	f.t.Helper()
	var tc *v1alpha1.TargetCluster
	eventually(f.t, time.Minute, func(context.Context) error {
		// The end of the wait is no answer.
		var err error
		if tc, err = f.targetCluster(f.t.Context(), name); err != nil {
			return err
		}
		c := meta.FindStatusCondition(tc.Status.Conditions, condition)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("%s is %+v, want %s", condition, c, reason)
		}
		return nil
	})
	return tc
}

// child makes a ConfigMap of ours on the target.
func child(t *testing.T, namespace, name string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name, cm.Labels = namespace, name, maps.Clone(ours)
	if err := targetAdmin.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	return cm
}

var errNotYet = errors.New("not yet")
