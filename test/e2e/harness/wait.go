// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const (
	// pollInterval is for what no watch tells of.
	pollInterval = 100 * time.Millisecond
	// unaskedInterval is how long a question about a watched object rests when nothing is heard of it.
	unaskedInterval = time.Second
	// lookInterval is for what is to stay as it is: several tests look on side by side, for long.
	lookInterval = 500 * time.Millisecond
)

// Eventually asks until what holds, and ends the test with the last answer when
// it does not hold in time.
func Eventually(t testing.TB, d time.Duration, what string, ask func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if last := until(ctx, pollInterval, nil, ask); last != nil {
		t.Fatalf("%s: not within %s: %v", what, d, last)
	}
}

// eventually is Eventually for a question about one object: it is asked when the
// object changes.
func (c *Cluster) eventually(t testing.TB, d time.Duration, what string, obj client.Object, ask func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if last := c.until(ctx, obj, ask); last != nil {
		t.Fatalf("%s: not within %s: %v", what, d, last)
	}
}

// until asks when the object changes, until the answer is nil or ctx ends, and
// returns the last answer.
func (c *Cluster) until(ctx context.Context, obj client.Object, ask func(ctx context.Context) error) error {
	kind, err := apiutil.GVKForObject(obj, Scheme)
	if err != nil {
		return fmt.Errorf("watch %s on %s: %w", client.ObjectKeyFromObject(obj), c.Name, err)
	}
	watching, stop := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	var watch sync.WaitGroup
	// The question may write to obj.
	key := client.ObjectKeyFromObject(obj)
	watch.Go(func() { c.watch(watching, kind, key, changed) })
	defer watch.Wait()
	defer stop()
	return until(ctx, unaskedInterval, changed, ask)
}

// watch tells of each change of an object, and of each watch that begins: what was
// missed before is to be asked for.
func (c *Cluster) watch(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, changed chan<- struct{}) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		w, err := c.watcher.Watch(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name})
		if err != nil {
			return
		}
		defer w.Stop()
		tell()
		for range w.ResultChan() {
			tell()
		}
	}, pollInterval)
}

// until asks now, whenever something changed and in each interval, until the
// answer is nil or ctx ends. It returns the last answer.
func until(ctx context.Context, interval time.Duration, changed <-chan struct{}, ask func(ctx context.Context) error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		// A question that the deadline cut short has no answer that says anything.
		if last == nil || !strings.Contains(err.Error(), "context deadline") {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-changed:
		case <-tick.C:
		}
	}
}

// Consistently asks all the while, and ends the test at the first answer that is
// an error.
func Consistently(t testing.TB, d time.Duration, what string, ask func(ctx context.Context) error) {
	t.Helper()
	start := time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), lookInterval, d, true, func(context.Context) (bool, error) {
		// The end of the window is no answer: the question outlives it.
		return false, ask(t.Context())
	})
	if err != nil && !wait.Interrupted(err) {
		t.Fatalf("%s: after %s: %v", what, time.Since(start).Round(time.Millisecond), err)
	}
}

// Conditions of the kinds of the group, by type.
func Conditions(obj client.Object) []metav1.Condition {
	switch o := obj.(type) {
	case *v1alpha1.Cinder:
		return o.Status.Conditions
	case *v1alpha1.CinderBackend:
		return o.Status.Conditions
	case *v1alpha1.CinderBackupBackend:
		return o.Status.Conditions
	case *v1alpha1.TargetCluster:
		return o.Status.Conditions
	}
	return nil
}

// Want describes a condition; empty fields are not compared.
type Want struct {
	Type   string
	Status metav1.ConditionStatus
	Reason string
	// Message is a part of the message.
	Message string
}

func (w Want) check(obj client.Object) error {
	c := meta.FindStatusCondition(Conditions(obj), w.Type)
	switch {
	case c == nil:
		return fmt.Errorf("%s has no condition %s", obj.GetName(), w.Type)
	case w.Status != "" && c.Status != w.Status, w.Reason != "" && c.Reason != w.Reason, !contains(c.Message, w.Message):
		return fmt.Errorf("%s is %s, %s: %q; want %s, %s: %q", w.Type, c.Status, c.Reason, c.Message, w.Status, w.Reason, w.Message)
	}
	return nil
}

// WaitFor waits until obj on the hub has all the conditions.
func (l *Lab) WaitFor(t testing.TB, d time.Duration, obj client.Object, want ...Want) {
	t.Helper()
	l.Hub.eventually(t, d, fmt.Sprintf("%T %s", obj, client.ObjectKeyFromObject(obj)), obj, l.conditionsOf(obj, want))
}

// HoldsFor fails as soon as obj on the hub lacks one of the conditions.
func (l *Lab) HoldsFor(t testing.TB, d time.Duration, obj client.Object, want ...Want) {
	t.Helper()
	Consistently(t, d, fmt.Sprintf("%T %s", obj, client.ObjectKeyFromObject(obj)), l.conditionsOf(obj, want))
}

func (l *Lab) conditionsOf(obj client.Object, want []Want) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := l.Hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		for _, w := range want {
			if err := w.check(obj); err != nil {
				return err
			}
		}
		return nil
	}
}

// WaitReady waits until a resource on the hub is Ready for its present generation.
func (l *Lab) WaitReady(t testing.TB, d time.Duration, obj client.Object) {
	t.Helper()
	l.Hub.eventually(t, d, fmt.Sprintf("%T %s Ready", obj, client.ObjectKeyFromObject(obj)), obj, func(ctx context.Context) error {
		if err := l.conditionsOf(obj, []Want{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}})(ctx); err != nil {
			return fmt.Errorf("%w; all conditions: %s", err, summary(obj))
		}
		c := meta.FindStatusCondition(Conditions(obj), v1alpha1.ConditionReady)
		if c.ObservedGeneration != obj.GetGeneration() {
			return fmt.Errorf("Ready speaks of generation %d, the resource is at %d", c.ObservedGeneration, obj.GetGeneration())
		}
		return nil
	})
}

// WaitGone waits until the object left the cluster.
func (c *Cluster) WaitGone(t testing.TB, d time.Duration, obj client.Object) {
	t.Helper()
	c.eventually(t, d, fmt.Sprintf("%T %s gone from %s", obj, client.ObjectKeyFromObject(obj), c.Name), obj, func(ctx context.Context) error {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			return fmt.Errorf("still there, finalizers %v; conditions: %s", obj.GetFinalizers(), summary(obj))
		}
		return nil
	})
}

func summary(obj client.Object) string {
	out := ""
	for _, c := range Conditions(obj) {
		if c.Status != metav1.ConditionTrue {
			out += fmt.Sprintf("\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return out
}
