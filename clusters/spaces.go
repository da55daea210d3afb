// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// spaceSweep is the longest pause between two looks at which namespaces are in use.
const spaceSweep = 10 * time.Second

// spaces watches what users own, in the namespaces of one cluster that custom resources live in and in no other: the
// metadata of Secrets and ConfigMaps, and the status of references. What a cluster holds elsewhere costs nothing here.
//
// A namespace is watched from the first read in it on, and at the latest from the sweep that finds it in use, until a
// sweep finds it out of use. The informers are made by hand: those of a cache could not be waited for when they are
// stopped before they have synchronised.
type spaces struct {
	cluster    string
	log        logr.Logger
	metadata   metadata.Interface
	dynamic    dynamic.Interface
	health     *watchHealth
	references []schema.GroupVersionKind
	served     func() *served
	every      time.Duration
	// inUse lists the namespaces in use; nil keeps every namespace there is. It answers from memory.
	inUse func(context.Context) ([]string, error)
	// serves tells whether the namespace may be watched at all; nil is yes.
	serves func(namespace string) bool
	emit   func(Event)
	// dropped is told of a namespace or a kind in it that is watched no longer.
	dropped func(namespace string)

	wake  chan struct{}
	again atomic.Bool // what was refused is to be tried again

	mu      sync.Mutex      // guards the fields below; never held across a call
	life    context.Context // nil before run and after its end
	open    map[string]*space
	running sync.WaitGroup
}

type space struct {
	watches map[kindKey]*spaceWatch
}

type spaceWatch struct {
	informer toolscache.SharedIndexInformer
	handled  toolscache.ResourceEventHandlerRegistration
	stop     context.CancelFunc
	refused  atomic.Bool
}

func newSpaces(cluster string, cfg *rest.Config, httpClient *http.Client, opts *Options) (*spaces, error) {
	s := &spaces{
		cluster: cluster, references: opts.References, every: min(opts.ProbeInterval, spaceSweep),
		log:  opts.Logger.WithValues("cluster", clusterString(cluster)),
		wake: make(chan struct{}, 1), open: map[string]*space{}, health: newWatchHealth(opts.Scheme),
	}
	var err error
	if s.metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(cfg), httpClient); err != nil {
		return nil, fmt.Errorf("client of metadata: %w", err)
	}
	if s.dynamic, err = dynamic.NewForConfigAndClient(dynamic.ConfigFor(cfg), httpClient); err != nil {
		return nil, fmt.Errorf("client of references: %w", err)
	}
	if inUse := opts.NamespacesInUse; inUse != nil {
		s.inUse = func(ctx context.Context) ([]string, error) { return inUse(ctx, cluster) }
	}
	return s, nil
}

// run keeps the watched namespaces those in use until ctx ends, and returns when every informer has ended. Tick is called
// once in a while.
func (s *spaces) run(ctx context.Context, tick func(now time.Time)) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.life = ctx
	s.mu.Unlock()
	for {
		s.sweep(ctx)
		tick(time.Now())
		if !wait(ctx, s.every, s.wake) {
			break
		}
	}
	s.mu.Lock()
	s.life = nil
	clear(s.open)
	s.mu.Unlock()
	cancel()
	s.running.Wait()
	s.health.running.wait()
}

// recount asks for a sweep: the namespaces in use may have changed.
func (s *spaces) recount() { poke(s.wake) }

// retry asks for a sweep that also tries again what was refused: rights or kinds may have changed.
func (s *spaces) retry() {
	s.again.Store(true)
	poke(s.wake)
}

func (s *spaces) sweep(ctx context.Context) {
	again := s.again.Swap(false)
	var inUse sets.Set[string]
	if s.inUse != nil {
		names, err := s.inUse(ctx)
		if err != nil {
			return // the hub's cache is not filled yet, or ends: nothing is known, and nothing changes
		}
		inUse = sets.New(names...)
		for namespace := range inUse {
			if s.serves != nil && !s.serves(namespace) {
				inUse.Delete(namespace)
			}
		}
	}
	var gone []string
	s.mu.Lock()
	for namespace, sp := range s.open {
		if inUse != nil && !inUse.Has(namespace) {
			for _, w := range sp.watches {
				w.stop()
			}
			delete(s.open, namespace)
			gone = append(gone, namespace)
			continue
		}
		if again {
			s.forgetRefused(sp)
		}
		s.fill(namespace, sp)
	}
	for namespace := range inUse {
		s.ensure(namespace)
	}
	s.mu.Unlock()
	for _, namespace := range gone {
		s.dropped(namespace)
	}
}

func (s *spaces) forgetRefused(sp *space) {
	for key, w := range sp.watches {
		if w.refused.Load() {
			delete(sp.watches, key)
		}
	}
}

// ensure opens a namespace. The caller holds mu.
func (s *spaces) ensure(namespace string) *space {
	sp, ok := s.open[namespace]
	if !ok && s.life != nil {
		sp = &space{watches: map[kindKey]*spaceWatch{}}
		s.open[namespace] = sp
		s.fill(namespace, sp)
	}
	return sp
}

// fill starts what is served and not watched, and stops what is served no longer. The caller holds mu.
func (s *spaces) fill(namespace string, sp *space) {
	now := s.served()
	if s.life == nil || now == nil {
		return
	}
	for _, key := range s.wanted() {
		resource, ok := now.namespacedResource(key.gvk)
		w, have := sp.watches[key]
		switch {
		case ok && !have:
			sp.watches[key] = s.start(namespace, key, resource)
		case !ok && have && now.failed[key.gvk.GroupVersion()] == nil:
			w.stop()
			delete(sp.watches, key)
		}
	}
}

func (s *spaces) wanted() []kindKey {
	keys := []kindKey{{gvkSecret, true}, {gvkConfigMap, true}}
	for _, gvk := range s.references {
		keys = append(keys, kindKey{gvk, false})
	}
	return keys
}

func (s *spaces) start(namespace string, key kindKey, resource schema.GroupVersionResource) *spaceWatch {
	// Reflectors have much to say of watches that end, which is nothing to be done about.
	ctx, stop := context.WithCancel(klog.NewContext(s.life, s.log.V(1)))
	w := &spaceWatch{stop: stop}
	w.informer = s.health.newInformer(s.calls(namespace, key, resource, w), key.object(), 0, toolscache.Indexers{})
	transform, emit := toolscache.TransformFunc(stripReference), news(s.emit)
	if key.metadata {
		transform, emit = stripInput(key.gvk), s.emit
	}
	// None of these fails for an informer that has not started.
	_ = w.informer.SetTransform(transform)
	_ = w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, r *toolscache.Reflector, err error) {
		s.log.V(1).Info("A watch failed", "type", r.TypeDescription(), "namespace", namespace, "cause", describe(err))
	})
	w.handled, _ = w.informer.AddEventHandler(eventHandler(s.cluster, emit))
	s.running.Go(func() {
		defer stop()
		w.informer.RunWithContext(ctx)
	})
	return w
}

// namespaces lists what is watched, sorted.
func (s *spaces) namespaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.open))
	for namespace := range s.open {
		out = append(out, namespace)
	}
	slices.Sort(out)
	return out
}

func (s *spaces) isOpen(namespace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[namespace] != nil
}

// get answers what the watch of a kind shows of an object: nil if there is none. It answers false while the kind is not
// watched there, or not synchronised yet; then the cluster is to be asked. It opens the namespace.
func (s *spaces) get(key kindKey, at types.NamespacedName) (client.Object, bool) {
	s.mu.Lock()
	var w *spaceWatch
	if sp := s.ensure(at.Namespace); sp != nil {
		w = sp.watches[key]
	}
	s.mu.Unlock()
	if w == nil || w.refused.Load() || !w.handled.HasSynced() {
		return nil, false
	}
	found, ok, err := w.informer.GetStore().GetByKey(at.String())
	if err != nil {
		return nil, false
	}
	if !ok {
		return nil, true
	}
	obj, ok := found.(client.Object)
	return obj, ok
}
