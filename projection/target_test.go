// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

// testTarget is the real API server seen as one cluster: a cache that holds the
// children of one hub in one namespace, and a count of the requests that pass.
type testTarget struct {
	name   string
	uid    types.UID
	hub    bool
	client client.Client
	live   client.Reader
	mapper meta.RESTMapper
	calls  *counter
}

var _ clusters.Target = (*testTarget)(nil)

func (t *testTarget) Name() string             { return t.name }
func (t *testTarget) IsHub() bool              { return t.hub }
func (t *testTarget) UID() types.UID           { return t.uid }
func (t *testTarget) Client() client.Client    { return t.client }
func (t *testTarget) APIReader() client.Reader { return t.live }
func (t *testTarget) Inputs() clusters.Inputs  { return nil }

func (t *testTarget) Serves(gvk schema.GroupVersionKind) (bool, error) {
	_, err := t.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

func (t *testTarget) ServiceProxy(context.Context, clusters.ServiceRequest) (clusters.ServiceResponse, error) {
	return clusters.ServiceResponse{}, errors.New("not asked here")
}

func (t *testTarget) APIServerCIDRs(context.Context) ([]string, error) { return nil, nil }

func (t *testTarget) String() string {
	if t.hub {
		return "the hub"
	}
	return `"` + t.name + `"`
}

// newTarget makes a target with a running cache of hubUID's children.
func newTarget(t *testing.T, name, namespace, hubUID string) *testTarget {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	calls := &counter{requests: map[string]int{}}
	cfg := rest.CopyConfig(apiServer)
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &countingTransport{next: rt, counter: calls} })
	cfg.QPS = -1
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	children, err := cache.New(cfg, cache.Options{
		HTTPClient:                  httpClient,
		Scheme:                      scheme,
		Mapper:                      mapper,
		ReaderFailOnMissingInformer: true,
		DefaultNamespaces:           map[string]cache.Config{namespace: {}},
		DefaultLabelSelector:        projection.Selector(hubUID),
		DefaultTransform:            cache.TransformStripManagedFields(),
	})
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- children.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("cache: %v", err)
		}
	})
	if !children.WaitForCacheSync(ctx) {
		t.Fatal("the cache does not start")
	}
	target := &testTarget{name: name, hub: name == "", uid: "cluster-" + types.UID(name), mapper: mapper, calls: calls}
	target.watchChildren(t, ctx, children)
	target.client, err = client.New(cfg, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: mapper,
		Cache: &client.CacheOptions{Reader: children, Unstructured: true}})
	if err != nil {
		t.Fatal(err)
	}
	target.live, err = client.New(cfg, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// watchChildren starts the informers of all kinds that are served, at once.
func (t *testTarget) watchChildren(tb testing.TB, ctx context.Context, children cache.Cache) {
	tb.Helper()
	var all sync.WaitGroup
	for _, kind := range projection.Kinds() {
		gvk, err := apiutil.GVKForObject(kind.Object, scheme)
		if err != nil {
			tb.Fatal(err)
		}
		if served, err := t.Serves(gvk); err != nil || !served {
			if err != nil || !kind.Optional {
				tb.Fatalf("%s is not served: %v", gvk, err)
			}
			continue
		}
		all.Go(func() {
			if _, err := children.GetInformer(ctx, kind.Object); err != nil {
				tb.Errorf("watch %s: %v", gvk.Kind, err)
			}
		})
	}
	all.Wait()
}

// counter counts requests by method, watches left out.
type counter struct {
	mu       sync.Mutex
	requests map[string]int
	paths    []string
	// whole are the paths of the reads that asked for more than metadata.
	whole []string
}

func (c *counter) add(method, path, accept string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[method]++
	c.paths = append(c.paths, method+" "+path)
	if method == http.MethodGet && !strings.Contains(accept, "as=PartialObjectMetadata") {
		c.whole = append(c.whole, path)
	}
}

// withContent counts the reads of whole objects of a resource.
func (c *counter) withContent(resource string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, path := range c.whole {
		if strings.Contains(path+"/", "/"+resource+"/") {
			n++
		}
	}
	return n
}

func (c *counter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests, c.paths, c.whole = map[string]int{}, nil, nil
}

// all are the requests since the last reset.
func (c *counter) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.paths...)
}

func (c *counter) of(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[method]
}

type countingTransport struct {
	next    http.RoundTripper
	counter *counter
}

func (c *countingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if watch := req.URL.Query().Get("watch"); watch != "true" && watch != "1" {
		c.counter.add(req.Method, strings.TrimPrefix(req.URL.Path, "/"), req.Header.Get("Accept"))
	}
	return c.next.RoundTrip(req)
}
