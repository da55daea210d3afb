// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func keyOf(cluster, name string) objectKey {
	return objectKey{cluster: types.UID(cluster), kind: schema.GroupKind{Kind: "Secret"}, namespace: "ns", name: name}
}

func ownedBy(uid string) applied { return applied{owner: ownerID{UID: types.UID(uid)}} }

func TestTheKeyCacheForgetsTheLeastRecentlyUsedBeyondItsBound(t *testing.T) {
	c := newKeyCache(3)
	for _, n := range []string{"a", "b", "c"} {
		c.put(keyOf("t", n), ownedBy("o"))
	}
	if _, ok := c.get(keyOf("t", "a")); !ok {
		t.Fatal("a is gone within the bound")
	}
	c.put(keyOf("t", "d"), ownedBy("o"))
	if _, ok := c.get(keyOf("t", "b")); ok {
		t.Error("b, the least recently used, is still there")
	}
	for _, n := range []string{"a", "c", "d"} {
		if _, ok := c.get(keyOf("t", n)); !ok {
			t.Errorf("%s is gone", n)
		}
	}
	if c.len() != 3 {
		t.Errorf("%d entries", c.len())
	}
}

func TestTheKeyCacheIsDroppedPerOwnerAndLeavesNothingBehind(t *testing.T) {
	c := newKeyCache(10)
	c.put(keyOf("t", "a"), ownedBy("one"))
	c.put(keyOf("t", "b"), ownedBy("one"))
	c.put(keyOf("t", "c"), ownedBy("two"))
	c.dropOwner("one")
	if _, ok := c.get(keyOf("t", "a")); ok || c.len() != 1 {
		t.Errorf("an entry of the dropped owner is left (%d entries)", c.len())
	}
	c.remove(keyOf("t", "c"))
	if c.len() != 0 || len(c.owners) != 0 || c.order.Len() != 0 {
		t.Errorf("left: %d entries, %d owners, %d in order", c.len(), len(c.owners), c.order.Len())
	}
}

func TestTheKeyCacheTellsClustersApartByIdentity(t *testing.T) {
	c := newKeyCache(10)
	c.put(keyOf("first", "a"), ownedBy("o"))
	if _, ok := c.get(keyOf("second", "a")); ok {
		t.Error("another cluster answers for the first")
	}
}

func TestAnEntryThatChangesItsOwnerLeavesTheFirstOne(t *testing.T) {
	c := newKeyCache(10)
	c.put(keyOf("t", "a"), ownedBy("one"))
	c.put(keyOf("t", "a"), ownedBy("two"))
	c.dropOwner("one")
	if v, ok := c.get(keyOf("t", "a")); !ok || v.owner.UID != "two" {
		t.Errorf("entry %v, %v", v, ok)
	}
}

func TestTheKeyCacheIsSafeForConcurrentUse(t *testing.T) {
	c := newKeyCache(50)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 200 {
				k := keyOf("t", fmt.Sprint(i%70))
				c.put(k, ownedBy(fmt.Sprint(g)))
				c.get(k)
				if i%50 == 0 {
					c.dropOwner(types.UID(fmt.Sprint(g)))
				}
			}
		})
	}
	all.Wait()
	if c.len() > 50 {
		t.Errorf("%d entries over the bound of 50", c.len())
	}
}
