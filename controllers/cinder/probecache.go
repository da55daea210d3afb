// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// probeKey says whose answer a cached probe is: another cluster behind the same
// name, a Cinder made anew and a moved endpoint are all asked afresh.
type probeKey struct {
	cinder   types.UID
	cluster  types.UID
	endpoint string
}

// probeCache remembers the last passing health probe of each Cinder.
type probeCache struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]probeEntry
}

type probeEntry struct {
	key probeKey
	at  time.Time
}

func newProbeCache() *probeCache {
	return &probeCache{entries: map[types.NamespacedName]probeEntry{}}
}

// fresh tells for how long a passing answer still stands; zero for none.
func (c *probeCache) fresh(name types.NamespacedName, key probeKey, ttl time.Duration, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[name]
	if !ok || e.key != key {
		return 0
	}
	return max(0, ttl-now.Sub(e.at))
}

func (c *probeCache) passed(name types.NamespacedName, key probeKey, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[name] = probeEntry{key: key, at: now}
}

func (c *probeCache) evict(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, name)
}
