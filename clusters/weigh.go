// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"encoding/json"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
)

// objectCost is what an object costs beside its content: its struct, its maps, its place in the index.
const objectCost = 1 << 10

// weigh is about what an object takes in memory, in bytes: the size of its content as it is sent, and what each object
// costs. It is the same for an object that did not change.
func weigh(obj any) int64 {
	switch o := obj.(type) {
	case interface{ Size() int }: // the built-in kinds, and metadata
		return objectCost + int64(o.Size())
	case *unstructured.Unstructured:
		return objectCost + weighTree(o.Object)
	}
	// A typed custom resource; it came as JSON, and can be made JSON again.
	content, _ := json.Marshal(obj)
	return objectCost + int64(len(content))
}

func weighTree(node any) int64 {
	const cost = 16 // of a node
	sum := int64(cost)
	switch n := node.(type) {
	case map[string]any:
		for key, value := range n {
			sum += int64(len(key)) + weighTree(value)
		}
	case []any:
		for _, value := range n {
			sum += weighTree(value)
		}
	case string:
		sum += int64(len(n))
	}
	return sum
}

// weighingHandler keeps the size of what an informer holds. It is told what the informer's other handlers are told, and
// lags behind the informer as they do.
type weighingHandler struct {
	toolscache.ResourceEventHandler
	bytes *atomic.Int64
}

// OnAdd is part of cache.ResourceEventHandler.
func (h *weighingHandler) OnAdd(obj any, isInInitialList bool) {
	h.bytes.Add(weigh(obj))
	h.ResourceEventHandler.OnAdd(obj, isInInitialList)
}

// OnUpdate is part of cache.ResourceEventHandler.
func (h *weighingHandler) OnUpdate(old, obj any) {
	h.bytes.Add(weigh(obj) - weigh(old))
	h.ResourceEventHandler.OnUpdate(old, obj)
}

// OnDelete is part of cache.ResourceEventHandler.
func (h *weighingHandler) OnDelete(obj any) {
	last := obj
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		last = unknown.Obj
	}
	h.bytes.Add(-weigh(last))
	h.ResourceEventHandler.OnDelete(obj)
}
