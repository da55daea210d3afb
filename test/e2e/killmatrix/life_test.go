// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package killmatrix

import (
	"context"
	"fmt"
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

func (l *life) satellites() []client.Object { return []client.Object{l.backend, l.second, l.backups} }

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
	}, func(ctx context.Context, l *life) error { return lab.AreReady(ctx, l.cinder, l.backend, l.backups) }},

	{"attach", func(t *testing.T, l *life) { lab.Hub.Create(t, l.second) },
		func(ctx context.Context, l *life) error {
			if err := lab.AreReady(ctx, l.cinder, l.second); err != nil {
				return err
			}
			if n := len(l.cinder.Status.VolumeServices); n != 2 {
				return fmt.Errorf("%d volume services, want 2", n)
			}
			return nil
		}},

	{"change", func(t *testing.T, l *life) {
		harness.Change(t, lab.Hub, l.cinder, func(c *v1alpha1.Cinder) { c.Spec.Image.Tag = "2026.1-fixed" })
	}, func(ctx context.Context, l *life) error {
		return lab.AreReady(ctx, l.cinder, l.backend, l.second, l.backups)
	}},

	{"delete", func(t *testing.T, l *life) {
		for _, obj := range []client.Object{l.cinder, l.backend, l.second, l.backups} {
			lab.Hub.Delete(t, obj.DeepCopyObject().(client.Object))
		}
	}, func(ctx context.Context, l *life) error { return lab.AreGone(ctx, append(l.satellites(), l.cinder)...) }},
}

// settle waits until the phase is done and comes to want, or, without want, until
// nothing changes any more; it returns what it came to.
func (l *life) settle(t *testing.T, ph phase, want map[string]string) map[string]string {
	t.Helper()
	var last map[string]string
	since := time.Now()
	harness.Eventually(t, settleTimeout, ph.name+" comes to its end", harness.Seldom(func(ctx context.Context) error {
		if err := ph.done(ctx, l); err != nil {
			return err
		}
		now, err := lab.Picture(ctx, lab.Targets["edge-1"], l.cinder, l.satellites()...)
		if err != nil {
			return err
		}
		if want != nil {
			return harness.Differ(now, want)
		}
		if err := harness.Differ(now, last); last == nil || err != nil {
			last, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("still changing")
		}
		return nil
	}))
	return last
}

func mark(t *testing.T) []harness.Mark {
	return []harness.Mark{lab.Hub.Mark(t), lab.Targets["edge-1"].Mark(t)}
}

func (l *life) trace(t *testing.T, since []harness.Mark) harness.Trace {
	t.Helper()
	return lab.TraceOf(t, "", since, append(l.satellites(), l.cinder)...)
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
