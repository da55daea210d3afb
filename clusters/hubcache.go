// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

type hubObject = client.Object

// newHubCache makes a small cache of one namespace of the hub, beside the manager's.
func newHubCache(hub cluster.Cluster, namespace string, selector labels.Selector) (cache.Cache, error) {
	health := newWatchHealth(hub.GetScheme())
	c, err := cache.New(hub.GetConfig(), cache.Options{
		NewInformer: health.newInformer,
		HTTPClient:  hub.GetHTTPClient(), Scheme: hub.GetScheme(), Mapper: hub.GetRESTMapper(),
		DefaultNamespaces:           map[string]cache.Config{namespace: {LabelSelector: selector}},
		DefaultTransform:            cache.TransformStripManagedFields(),
		ReaderFailOnMissingInformer: true,
	})
	if err != nil {
		return nil, fmt.Errorf("cache of namespace %s on the hub: %w", namespace, err)
	}
	return &drainedCache{c, health}, nil
}

// drainedCache ends only when its informers have, and the watches they stopped are read to their end.
type drainedCache struct {
	cache.Cache
	health *watchHealth
}

// Start is part of cache.Cache.
func (c *drainedCache) Start(ctx context.Context) error {
	err := c.Cache.Start(ctx)
	c.health.running.wait()
	return err
}

// runCache starts c, runs f once it is started, and returns when f has returned and c has ended.
func runCache(ctx context.Context, c cache.Cache, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	var err error
	if c.WaitForCacheSync(ctx) {
		err = f(ctx)
	}
	cancel()
	return errors.Join(err, <-done)
}
