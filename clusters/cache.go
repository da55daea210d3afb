// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// NewCache makes the cache of one cluster out of two that stand behind it: one of children, restricted to sel, and one
// of metadata alone, stripped of labels and annotations, for what users own. In a single cache a kind's selector would
// bind its metadata watch too.
//
// hubExtra are kinds that are cached whole, in a third cache; it is for the custom resources on the hub. A read of a kind
// that nobody made an informer for fails, and starts none. Unstructured objects that are no children have a cache of their
// own, which holds their status alone: see Options.References.
func NewCache(children []ChildKind, sel labels.Selector, hubExtra ...client.Object) cache.NewCacheFunc {
	return func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
		c := &composite{scheme: opts.Scheme, childKinds: map[schema.GroupVersionKind]bool{}, health: newWatchHealth(opts.Scheme)}
		for _, kind := range children {
			gvk, err := apiutil.GVKForObject(kind.Object, opts.Scheme)
			if err != nil {
				return nil, fmt.Errorf("kind of child %T: %w", kind.Object, err)
			}
			c.childKinds[gvk] = true
		}
		for _, obj := range hubExtra {
			gvk, err := apiutil.GVKForObject(obj, opts.Scheme)
			if err != nil {
				return nil, fmt.Errorf("kind of %T: %w", obj, err)
			}
			delete(c.childKinds, gvk)
		}

		opts.ReaderFailOnMissingInformer = true
		opts.NewInformer = c.health.newInformer

		ours := opts
		ours.DefaultLabelSelector = sel
		ours.DefaultTransform = cache.TransformStripManagedFields()
		var err error
		if c.children, err = cache.New(cfg, ours); err != nil {
			return nil, fmt.Errorf("cache of children: %w", err)
		}
		inputs := opts
		inputs.DefaultTransform = stripMetadata
		if c.inputs, err = cache.New(cfg, inputs); err != nil {
			return nil, fmt.Errorf("cache of inputs: %w", err)
		}
		references := opts
		references.DefaultTransform = stripReference
		if c.references, err = cache.New(cfg, references); err != nil {
			return nil, fmt.Errorf("cache of references: %w", err)
		}
		if len(hubExtra) > 0 {
			plain := opts
			plain.DefaultTransform = cache.TransformStripManagedFields()
			if c.plain, err = cache.New(cfg, plain); err != nil {
				return nil, fmt.Errorf("cache of resources: %w", err)
			}
		}
		return c, nil
	}
}

// composite routes by type: metadata to inputs, child kinds to children, other unstructured objects to references, the
// rest to plain.
type composite struct {
	scheme     *runtime.Scheme
	childKinds map[schema.GroupVersionKind]bool
	children   cache.Cache
	inputs     cache.Cache
	references cache.Cache
	plain      cache.Cache // nil where nothing but children is cached
	health     *watchHealth
	// synced: every informer there was had synced once.
	synced atomic.Bool
}

var _ cache.Cache = (*composite)(nil)

func (c *composite) route(obj runtime.Object) (cache.Cache, error) {
	switch obj.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return c.inputs, nil
	}
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return nil, err
	}
	if _, ok := obj.(runtime.Unstructured); ok && !c.childKinds[singular(gvk)] {
		return c.references, nil
	}
	return c.routeKind(gvk), nil
}

// singular is the kind of a list's items.
func singular(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	return gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List"))
}

func (c *composite) routeKind(gvk schema.GroupVersionKind) cache.Cache {
	if c.plain != nil && !c.childKinds[singular(gvk)] {
		return c.plain
	}
	return c.children
}

// Get is part of cache.Cache.
func (c *composite) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	to, err := c.route(obj)
	if err != nil {
		return err
	}
	return to.Get(ctx, key, obj, opts...)
}

// List is part of cache.Cache.
func (c *composite) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	to, err := c.route(list)
	if err != nil {
		return err
	}
	return to.List(ctx, list, opts...)
}

// GetInformer is part of cache.Cache.
func (c *composite) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	to, err := c.route(obj)
	if err != nil {
		return nil, err
	}
	return to.GetInformer(ctx, obj, opts...)
}

// GetInformerForKind is part of cache.Cache.
func (c *composite) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	return c.routeKind(gvk).GetInformerForKind(ctx, gvk, opts...)
}

// RemoveInformer is part of cache.Cache.
func (c *composite) RemoveInformer(ctx context.Context, obj client.Object) error {
	to, err := c.route(obj)
	if err != nil {
		return err
	}
	if err := to.RemoveInformer(ctx, obj); err != nil {
		return err
	}
	c.health.forget(obj)
	return nil
}

// IndexField is part of cache.Cache.
func (c *composite) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	to, err := c.route(obj)
	if err != nil {
		return err
	}
	return to.IndexField(ctx, obj, field, extract)
}

func (c *composite) each() []cache.Cache {
	all := []cache.Cache{c.children, c.inputs, c.references}
	if c.plain != nil {
		all = append(all, c.plain)
	}
	return all
}

// Start is part of cache.Cache.
func (c *composite) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, one := range c.each() {
		group.Go(func() error { return one.Start(ctx) })
	}
	err := group.Wait()
	c.health.running.wait()
	return err
}

// WaitForCacheSync is part of cache.Cache. A wait that is cancelled answers what was true before: a stop is no failure to
// sync, and a source that is told of one is printed by its controller while its own goroutine is still clearing it.
func (c *composite) WaitForCacheSync(ctx context.Context) bool {
	for _, one := range c.each() {
		if !one.WaitForCacheSync(ctx) {
			return errors.Is(ctx.Err(), context.Canceled) && c.synced.Load()
		}
	}
	c.synced.Store(true)
	return true
}

// stripMetadata keeps what tells one state of an object from another: 0.5 KiB per object that is not ours instead of
// 1.4, on a cluster that may hold many.
func stripMetadata(in any) (any, error) {
	if obj, ok := in.(*metav1.PartialObjectMetadata); ok {
		obj.ObjectMeta = metav1.ObjectMeta{
			Namespace: obj.Namespace, Name: obj.Name, UID: obj.UID, ResourceVersion: obj.ResourceVersion,
			DeletionTimestamp: obj.DeletionTimestamp,
		}
	}
	return in, nil
}
