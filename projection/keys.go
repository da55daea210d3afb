// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"container/list"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// objectKey names an object of a cluster by the cluster's identity, not by its
// name: another cluster behind a known name finds nothing here.
type objectKey struct {
	cluster         types.UID
	kind            schema.GroupKind
	namespace, name string
}

// applied is what an apply left behind.
type applied struct {
	owner           ownerID
	uid             types.UID
	generation      int64
	resourceVersion string
	intent          [32]byte
}

// keyCache remembers the last apply per object, least recently used out first.
// Its lock guards memory alone: no call to a cluster is made under it.
type keyCache struct {
	mu      sync.Mutex
	max     int
	order   *list.List // of *keyEntry, most recently used first
	entries map[objectKey]*list.Element
	owners  map[types.UID]map[objectKey]struct{}
}

type keyEntry struct {
	key   objectKey
	value applied
}

func newKeyCache(limit int) *keyCache {
	return &keyCache{
		max:     limit,
		order:   list.New(),
		entries: map[objectKey]*list.Element{},
		owners:  map[types.UID]map[objectKey]struct{}{},
	}
}

func (c *keyCache) get(k objectKey) (applied, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[k]
	if !ok {
		return applied{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*keyEntry).value, true
}

func (c *keyCache) put(k objectKey, v applied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(k)
	for len(c.entries) >= c.max {
		c.removeLocked(c.order.Back().Value.(*keyEntry).key)
	}
	c.entries[k] = c.order.PushFront(&keyEntry{key: k, value: v})
	if c.owners[v.owner.UID] == nil {
		c.owners[v.owner.UID] = map[objectKey]struct{}{}
	}
	c.owners[v.owner.UID][k] = struct{}{}
}

func (c *keyCache) remove(k objectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(k)
}

func (c *keyCache) dropOwner(owner types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.owners[owner] {
		c.removeLocked(k)
	}
}

func (c *keyCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

func (c *keyCache) removeLocked(k objectKey) {
	e, ok := c.entries[k]
	if !ok {
		return
	}
	owner := e.Value.(*keyEntry).value.owner.UID
	c.order.Remove(e)
	delete(c.entries, k)
	delete(c.owners[owner], k)
	if len(c.owners[owner]) == 0 {
		delete(c.owners, owner)
	}
}
