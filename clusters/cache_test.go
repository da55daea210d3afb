// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Controllers that are stopped while they start take the answer for a failure, and print the source that has it.
func TestAStopIsNoFailureToSync(t *testing.T) {
	c, err := NewCache(childKinds(), labels.SelectorFromSet(ours), &v1alpha1.Cinder{})(hubConfig, cache.Options{Scheme: testScheme})
	if err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	// The cache below takes either of two branches by chance when both the start and the end have come.
	const tries = 50
	for range tries {
		if c.WaitForCacheSync(cancelled) {
			t.Fatal("a cache that never ran says it has synced")
		}
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	if _, err := c.GetInformer(t.Context(), &v1alpha1.Cinder{}); err != nil {
		t.Fatal(err)
	}
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache did not sync")
	}
	for range tries {
		if !c.WaitForCacheSync(cancelled) {
			t.Fatal("a synced cache says otherwise once the wait is cancelled")
		}
	}
	failed := false
	for range tries {
		failed = failed || !c.WaitForCacheSync(expired)
	}
	if !failed {
		t.Error("a wait whose time is over answers as one that is cancelled")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
