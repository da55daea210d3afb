// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package killmatrix

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

const (
	namespace = "kill"
	// settleTimeout is what a phase may take with a restart in the middle.
	settleTimeout = 2 * time.Minute
	// quiet is how long nothing may change for a phase to be over.
	quiet = 2 * time.Second
)

// life is one Cinder from its creation to its end. Every life has the same names
// in the same namespace, so that its traces can be compared.
type life struct {
	cinder          *v1alpha1.Cinder
	backend, second *v1alpha1.CinderBackend
	backups         *v1alpha1.CinderBackupBackend
}

func newLife() *life {
	l := &life{cinder: harness.Cinder(namespace, "cinder", "edge-1")}
	l.backend, l.second = harness.Backend(l.cinder, "first"), harness.Backend(l.cinder, "second")
	l.backups = harness.BackupBackend(l.cinder, "backups")
	return l
}

// phase is one change of a life: what a user does, and when it is done.
type phase struct {
	name string
	do   func(*testing.T, *life)
	done func(context.Context, *life) error
}

var phases = []phase{
	{"install", func(t *testing.T, l *life) {
		for _, obj := range []client.Object{l.cinder, l.backend, l.backups} {
			lab.Hub.Create(t, obj)
		}
	}, func(ctx context.Context, l *life) error { return ready(ctx, l.cinder, l.backend, l.backups) }},

	{"attach", func(t *testing.T, l *life) { lab.Hub.Create(t, l.second) },
		func(ctx context.Context, l *life) error {
			if err := ready(ctx, l.cinder, l.second); err != nil {
				return err
			}
			if n := len(l.cinder.Status.VolumeServices); n != 2 {
				return fmt.Errorf("%d volume services, want 2", n)
			}
			return nil
		}},

	{"change", func(t *testing.T, l *life) {
		harness.Change(t, lab.Hub, l.cinder, func(c *v1alpha1.Cinder) { c.Spec.Image.Tag = "2026.1-fixed" })
	}, func(ctx context.Context, l *life) error { return ready(ctx, l.cinder, l.backend, l.second, l.backups) }},

	{"delete", func(t *testing.T, l *life) {
		for _, obj := range []client.Object{l.cinder, l.backend, l.second, l.backups} {
			lab.Hub.Delete(t, obj.DeepCopyObject().(client.Object))
		}
	}, func(ctx context.Context, l *life) error {
		for _, obj := range []client.Object{l.cinder, l.backend, l.second, l.backups} {
			if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj.DeepCopyObject().(client.Object)); client.IgnoreNotFound(err) != nil {
				return err
			} else if err == nil {
				return fmt.Errorf("%T %s is still there", obj, obj.GetName())
			}
		}
		return nil
	}},
}

func ready(ctx context.Context, objs ...client.Object) error {
	for _, obj := range objs {
		if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		found := false
		for _, c := range harness.Conditions(obj) {
			if c.Type != v1alpha1.ConditionReady {
				continue
			}
			found = true
			if c.Status != metav1.ConditionTrue || c.ObservedGeneration != obj.GetGeneration() {
				return fmt.Errorf("%T %s is Ready=%s for generation %d of %d: %s", obj, obj.GetName(), c.Status, c.ObservedGeneration, obj.GetGeneration(), c.Message)
			}
		}
		if !found {
			return fmt.Errorf("%T %s has no condition Ready", obj, obj.GetName())
		}
	}
	return nil
}

// picture is what a phase comes to: the children and the statuses.
func (l *life) picture(ctx context.Context) (map[string]string, error) {
	out, err := lab.Targets["edge-1"].Dump(ctx, l.cinder)
	if err != nil {
		return nil, err
	}
	for _, obj := range []client.Object{l.cinder, l.backend, l.second, l.backups} {
		obj := obj.DeepCopyObject().(client.Object)
		if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); client.IgnoreNotFound(err) != nil {
			return nil, err
		} else if err != nil {
			continue
		}
		status, err := harness.StatusOf(obj)
		if err != nil {
			return nil, err
		}
		out[fmt.Sprintf("status of %T %s, held by %v", obj, obj.GetName(), obj.GetFinalizers())] = status
	}
	return out, nil
}

// settle waits until the phase is done and comes to want, or, without want, until
// nothing changes any more; it returns what it came to.
func (l *life) settle(t *testing.T, ph phase, want map[string]string) map[string]string {
	t.Helper()
	var last map[string]string
	since := time.Now()
	harness.Eventually(t, settleTimeout, ph.name+" comes to its end", func(ctx context.Context) error {
		if err := ph.done(ctx, l); err != nil {
			return err
		}
		now, err := l.picture(ctx)
		if err != nil {
			return err
		}
		if want != nil {
			return differ(now, want)
		}
		if err := differ(now, last); last == nil || err != nil {
			last, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("still changing")
		}
		return nil
	})
	return last
}

func differ(now, want map[string]string) error {
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

// trace is what a life left in the audit logs and among the events.
type trace struct {
	// made counts creations of objects and touched lists the writes of each, by
	// "cluster resource namespace/name".
	made    map[string]int
	touched map[string][]string
	told    map[string]int
}

type marks struct{ hub, edge harness.Mark }

func mark(t *testing.T) marks { return marks{lab.Hub.Mark(t), lab.Targets["edge-1"].Mark(t)} }

func (l *life) trace(t *testing.T, since marks) trace {
	t.Helper()
	tr := trace{made: map[string]int{}, touched: map[string][]string{}, told: map[string]int{}}
	for cluster, m := range map[string]harness.Mark{"hub": since.hub, "edge-1": since.edge} {
		for _, r := range m.Writes(t) {
			if r.ObjectRef.Resource == "events" || r.ResponseStatus.Code >= 300 {
				continue
			}
			what := fmt.Sprintf("%s %s %s/%s", cluster, r.ObjectRef.Resource, r.ObjectRef.Namespace, r.ObjectRef.Name)
			tr.touched[what] = append(tr.touched[what], fmt.Sprintf("%s %s %d", r.StageTimestamp, r.Verb, r.ResponseStatus.Code))
			if r.ResponseStatus.Code == 201 {
				tr.made[what]++
			}
		}
	}
	for _, obj := range []client.Object{l.cinder, l.backend, l.second, l.backups} {
		told, err := lab.Hub.Told(t.Context(), namespace, obj.GetUID())
		if err != nil {
			t.Fatal(err)
		}
		for what, times := range told {
			tr.told[fmt.Sprintf("%T %s %s", obj, obj.GetName(), what)] = times
		}
	}
	return tr
}

// check compares a life with kills with one without.
func (tr trace) check(t *testing.T, want trace) {
	t.Helper()
	for what, times := range tr.made {
		if times > want.made[what] {
			t.Errorf("%s was made %d times, without kills %d times; its writes: %q", what, times, want.made[what], tr.touched[what])
		}
	}
	for what, writes := range tr.touched {
		// The mirror of a registration is written on losses and returns alone.
		if want.touched[what] == nil && !strings.Contains(what, "targetclusters") {
			t.Errorf("%s was written, without kills it was not: %q", what, writes)
		}
	}
	for what, times := range tr.told {
		if times > max(1, want.told[what]) {
			t.Errorf("told %d times, without kills %d times: %s", times, want.told[what], what)
		}
	}
}

// bystanders are objects beside the children that nobody of ours may touch.
func bystanders(t *testing.T) func(*testing.T) {
	t.Helper()
	edge := lab.Targets["edge-1"]
	labels := map[string]string{
		"openstack.c5c3.io/owner-kind": "Cinder", "openstack.c5c3.io/owner-name": "cinder",
		"openstack.c5c3.io/owner-namespace": namespace, "openstack.c5c3.io/owner-hub": "another-hub",
	}
	objs := []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cinder-config-bystander", Namespace: namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bystander", Namespace: namespace}},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "bystander", Namespace: namespace},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "of-another-hub", Namespace: "default", Labels: labels}},
	}
	was := map[types.UID]string{}
	for _, obj := range objs {
		edge.Ensure(t, obj)
		was[obj.GetUID()] = obj.GetResourceVersion()
	}
	return func(t *testing.T) {
		t.Helper()
		for _, obj := range objs {
			edge.Get(t, client.ObjectKeyFromObject(obj), obj)
			if was[obj.GetUID()] != obj.GetResourceVersion() {
				t.Errorf("%T %s was touched: %+v", obj, obj.GetName(), obj)
			}
		}
	}
}
