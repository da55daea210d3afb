// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Seed is that of a random sample: CINDER_SEED, or one that is the same each
// time, so that a change is judged by what it changed. It is printed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(20260101)
	if s := os.Getenv("CINDER_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("CINDER_SEED: %v", err)
		}
	}
	t.Logf("CINDER_SEED=%d repeats this sample", seed)
	return seed
}

// Soak tells whether everything is tried rather than a sample.
func Soak() bool { return os.Getenv("CINDER_SOAK") != "" }

// AreReady reads resources of the hub and complains about the first that is not
// Ready for its present generation.
func (l *Lab) AreReady(ctx context.Context, objs ...client.Object) error {
	for _, obj := range objs {
		if err := l.Hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		c := meta.FindStatusCondition(Conditions(obj), v1alpha1.ConditionReady)
		if c == nil {
			return fmt.Errorf("%T %s has no condition Ready", obj, obj.GetName())
		}
		if c.Status != metav1.ConditionTrue || c.ObservedGeneration != obj.GetGeneration() {
			return fmt.Errorf("%T %s is Ready=%s for generation %d of %d: %s", obj, obj.GetName(), c.Status, c.ObservedGeneration, obj.GetGeneration(), summary(obj))
		}
	}
	return nil
}

// Seldom gives the last answer again until it is time to ask anew: questions about
// a whole life are many, and its operator is to have the cores.
func Seldom(ask func(context.Context) error) func(context.Context) error {
	const between = 400 * time.Millisecond
	var asked time.Time
	var answer error
	return func(ctx context.Context) error {
		if time.Since(asked) >= between {
			answer = ask(ctx)
			asked = time.Now()
		}
		return answer
	}
}

// AreGone complains about the first of the resources that the hub still has.
func (l *Lab) AreGone(ctx context.Context, objs ...client.Object) error {
	for _, obj := range objs {
		now, _ := obj.DeepCopyObject().(client.Object)
		if err := l.Hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), now); client.IgnoreNotFound(err) != nil {
			return err
		} else if err == nil {
			return fmt.Errorf("%T %s is still there, held by %v: %s", obj, obj.GetName(), now.GetFinalizers(), summary(now))
		}
	}
	return nil
}

// Picture is what a Cinder has come to: its children on the cluster, and the
// statuses and finalizers of it and its satellites.
func (l *Lab) Picture(ctx context.Context, on *Cluster, cinder *v1alpha1.Cinder, satellites ...client.Object) (map[string]string, error) {
	out, err := on.Dump(ctx, cinder)
	if err != nil {
		return nil, err
	}
	for _, obj := range append([]client.Object{cinder}, satellites...) {
		now, _ := obj.DeepCopyObject().(client.Object)
		if err := l.Hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), now); client.IgnoreNotFound(err) != nil {
			return nil, err
		} else if err != nil {
			continue
		}
		status, err := StatusOf(now)
		if err != nil {
			return nil, err
		}
		out[fmt.Sprintf("status of %T %s, held by %v", obj, obj.GetName(), now.GetFinalizers())] = status
	}
	return out, nil
}

// Differ complains about the first difference of two pictures.
func Differ(now, want map[string]string) error {
	for key := range want {
		if _, ok := now[key]; !ok {
			return fmt.Errorf("%s is missing; there are %v", key, slices.Sorted(maps.Keys(now)))
		}
	}
	for key, value := range now {
		switch have, ok := want[key]; {
		case !ok:
			return fmt.Errorf("%s is too much", key)
		case have != value:
			return fmt.Errorf("%s is\n%s\nwant\n%s", key, value, have)
		}
	}
	return nil
}

// Objects names everything in a namespace of the cluster that is of a kind of a
// Cinder's children, whoever made it.
func (c *Cluster) Objects(ctx context.Context, namespace string) ([]string, error) {
	var out []string
	for _, kind := range childLists {
		list := kind.list()
		if err := c.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list %s on %s: %w", kind.name, c.Name, err)
		}
		if err := eachItem(list, func(o client.Object) { out = append(out, kind.name+"/"+o.GetName()) }); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return out, nil
}
