// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

var (
	errNotServed = errors.New("the cluster does not serve it")
	errNotSynced = errors.New("it is being synchronised")
)

// informerSet holds the informers of one cluster that show all of it, or of the namespaces it is limited to: those of the
// child kinds and of references without a namespace. A kind that is not served or forbidden is left out by name and holds
// nothing else back.
type informerSet struct {
	cluster string
	scheme  *runtime.Scheme
	cache   cache.Cache
	health  *watchHealth // nil for a cache that is not ours
	timeout time.Duration
	emit    func(Event)
	// failed is told of the errors of list and watch calls. Set before the first sync.
	failed func(error)

	wanted     map[kindKey]client.Object // not changed after the first sync
	references sets.Set[schema.GroupVersionKind]

	mu      sync.Mutex // guards the fields below; never held across a call
	synced  map[kindKey]bool
	left    map[kindKey]error
	waiting map[kindKey]context.CancelCauseFunc
}

func newInformerSet(cluster string, scheme *runtime.Scheme, c cache.Cache, children []ChildKind, timeout time.Duration, emit func(Event)) (*informerSet, error) {
	s := &informerSet{
		cluster: cluster, scheme: scheme, cache: c, timeout: timeout, emit: emit,
		wanted: map[kindKey]client.Object{}, references: sets.New[schema.GroupVersionKind](), synced: map[kindKey]bool{}, left: map[kindKey]error{},
		waiting: map[kindKey]context.CancelCauseFunc{},
	}
	for _, kind := range children {
		gvk, err := apiutil.GVKForObject(kind.Object, scheme)
		if err != nil {
			return nil, fmt.Errorf("kind of child %T: %w", kind.Object, err)
		}
		s.wanted[kindKey{gvk, false}] = kind.Object
		s.left[kindKey{gvk, false}] = errNotSynced
	}
	if ours, ok := c.(*composite); ok {
		s.health = ours.health
		s.health.setOnError(s.onError)
	}
	return s, nil
}

// want adds the metadata of a kind to what is watched. It is called before the first sync only.
func (s *informerSet) want(obj *metav1.PartialObjectMetadata) {
	key := kindKey{obj.GroupVersionKind(), true}
	s.wanted[key] = obj
	s.left[key] = errNotSynced
}

// onError ends the wait for a kind that the cluster will not hand out, however long we waited.
func (s *informerSet) onError(key kindKey, err error) {
	if refusedKind(err) {
		s.mu.Lock()
		stop := s.waiting[key]
		s.mu.Unlock()
		if stop != nil {
			stop(err)
		}
	}
	if s.failed != nil {
		s.failed(err)
	}
}

func refusedKind(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// sync starts the informers of wanted kinds that are served and waits until they are synchronised; it removes those of
// kinds that are served no longer. The cache has to be started. The answer says whether the set of kinds changed.
func (s *informerSet) sync(ctx context.Context, now *served) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errDeadline)
	defer cancel()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex // guards changed and errs
		errs []error
	)
	changed := s.prune(ctx, now)
	for key, obj := range s.wanted {
		s.mu.Lock()
		have := s.synced[key]
		s.mu.Unlock()
		if ok, err := now.has(key.gvk); err != nil || !ok || have || s.perNamespace(key, now) {
			continue
		}
		wg.Go(func() {
			did, err := s.start(ctx, key, obj)
			mu.Lock()
			defer mu.Unlock()
			changed = changed || did
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", key.gvk.Kind, err))
			}
		})
	}
	wg.Wait()
	// They come in any order, and the first one's words stand in conditions.
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return changed, errors.Join(errs...)
}

// prune removes the informers of kinds that are served no longer and tells whether there were any.
func (s *informerSet) prune(ctx context.Context, now *served) bool {
	changed := false
	for key, obj := range s.wanted {
		ok, err := now.has(key.gvk)
		if ok || err != nil {
			continue // err: nobody knows; what was watched stays watched
		}
		s.mu.Lock()
		had := s.synced[key]
		s.mu.Unlock()
		if had || !errors.Is(s.why(key), errNotServed) {
			s.remove(ctx, key, obj, errNotServed)
		}
		changed = changed || had
	}
	return changed
}

func (s *informerSet) why(key kindKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left[key]
}

func (s *informerSet) start(ctx context.Context, key kindKey, obj client.Object) (bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	s.waiting[key] = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, key)
		s.mu.Unlock()
	}()

	emit := s.emit
	if s.references.Has(key.gvk) {
		emit = news(emit)
	}
	inf, err := s.cache.GetInformer(ctx, obj)
	if err == nil {
		_, err = inf.AddEventHandler(eventHandler(s.cluster, emit))
	}
	if err == nil {
		s.mu.Lock()
		s.synced[key] = true
		delete(s.left, key)
		s.mu.Unlock()
		return true, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, errDeadline) && s.health != nil {
		if last := s.health.errorOf(key); last != nil {
			err = &unsyncedError{kind: key.gvk.Kind, last: last}
		}
	}
	// An informer that never synchronises would make every later wait for the cache fail.
	s.remove(ctx, key, obj, err)
	if refusedKind(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	return false, err
}

// unsyncedError says that the objects of a kind could not be read in time, and what their last read was answered.
type unsyncedError struct {
	kind string
	last error
}

func (e *unsyncedError) Error() string { return fmt.Sprintf("%s: %v: %v", e.kind, errDeadline, e.last) }

func (e *unsyncedError) Unwrap() []error { return []error{errDeadline, e.last} }

func (s *informerSet) remove(ctx context.Context, key kindKey, obj client.Object, why error) {
	s.mu.Lock()
	delete(s.synced, key)
	s.left[key] = why
	s.mu.Unlock()
	// The only error is an object of no known kind, and the set was made of known ones.
	_ = s.cache.RemoveInformer(ctx, obj)
}

// ready answers nil for an object or list that can be read from the cache, or is none of our kinds. A read of a kind
// whose informer is not there yet would wait for it.
func (s *informerSet) ready(obj runtime.Object) error {
	gvk, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	key := kindKey{gvk: gvk}
	switch obj.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		key.metadata = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if why, ok := s.left[key]; ok {
		return fmt.Errorf("%s is not cached on %s: %w: %w", gvk.Kind, clusterString(s.cluster), &cache.ErrResourceNotCached{GVK: gvk}, why)
	}
	return nil
}

// eventHandler tells emit of what an informer of a cluster sees.
func eventHandler(cluster string, emit func(Event)) toolscache.ResourceEventHandler {
	tell := func(object, old any, deleted bool) {
		if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		ev := Event{Cluster: cluster, Deleted: deleted}
		var ok bool
		if ev.Object, ok = object.(client.Object); !ok {
			return
		}
		ev.Old, _ = old.(client.Object)
		emit(ev)
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { tell(obj, nil, false) },
		UpdateFunc: func(old, obj any) {
			// A resync of the informer says nothing new.
			was, ok1 := old.(client.Object)
			is, ok2 := obj.(client.Object)
			if ok1 && ok2 && was.GetResourceVersion() == is.GetResourceVersion() {
				return
			}
			tell(obj, old, false)
		},
		DeleteFunc: func(obj any) { tell(obj, nil, true) },
	}
}

func clusterString(name string) string {
	if name == "" {
		return "the hub"
	}
	return fmt.Sprintf("%q", name)
}
