// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"reflect"
	"sync/atomic"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
)

const (
	// objectCost is what an object costs beside its content: its place in the index, and what it takes to hand it out.
	objectCost = 1 << 10
	// mapCost is what a map costs beside its entries, for which it has mapSlots places at the least.
	mapCost, mapSlots = 64, 8
)

// weigh is about what an object takes in memory, in bytes: what hangs on it, and what each object costs. How large it was
// when it was sent tells too little: a container of two bytes is a struct as large as any other. It is the same for an
// object that did not change.
func weigh(obj any) int64 { return objectCost + weighTree(reflect.ValueOf(obj)) }

var timeType = reflect.TypeFor[time.Time]()

// weighTree is what hangs on a value, which counts itself where it lies.
func weighTree(v reflect.Value) int64 {
	sum := int64(0)
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			sum = int64(v.Elem().Type().Size()) + weighTree(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == timeType {
			return 0 // all share their zones
		}
		for i := range v.NumField() {
			sum += weighTree(v.Field(i))
		}
	case reflect.Slice:
		sum = int64(v.Len()) * int64(v.Type().Elem().Size())
		if scalar(v.Type().Elem()) {
			return sum
		}
		for i := range v.Len() {
			sum += weighTree(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			return 0
		}
		sum = mapCost
		if n := v.Len(); n > 0 { // it keeps some free
			sum += int64(max(mapSlots, n+n/2)) * int64(v.Type().Key().Size()+v.Type().Elem().Size())
		}
		for entry := v.MapRange(); entry.Next(); {
			sum += weighTree(entry.Key()) + weighTree(entry.Value())
		}
	}
	return sum
}

func scalar(t reflect.Type) bool { return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128 }

// weighingHandler keeps the size of what an informer holds. It is told what the informer's other handlers are told, and
// lags behind the informer as they do.
type weighingHandler struct {
	toolscache.ResourceEventHandler
	bytes *atomic.Int64
	grown func()
}

// OnAdd is part of cache.ResourceEventHandler.
func (h *weighingHandler) OnAdd(obj any, isInInitialList bool) {
	h.grow(weigh(obj))
	h.ResourceEventHandler.OnAdd(obj, isInInitialList)
}

// OnUpdate is part of cache.ResourceEventHandler.
func (h *weighingHandler) OnUpdate(old, obj any) {
	h.grow(weigh(obj) - weigh(old))
	h.ResourceEventHandler.OnUpdate(old, obj)
}

func (h *weighingHandler) grow(n int64) {
	h.bytes.Add(n)
	if n > 0 {
		h.grown()
	}
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
