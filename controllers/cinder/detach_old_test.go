// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/controllers/cinder"
	"c5c3.io/cinder-operator/projection"
)

// detaching is a backend that is being deleted, whose Job is run on the hub and
// by nobody but the test.
type detaching struct {
	*fixture
	// old is the backend as the cache knows it, before it was released.
	old      *v1alpha1.CinderBackend
	recorder *events.FakeRecorder
}

const serviceRemoveJob = "cinder-nfs-a-service-remove"

func newDetaching(t *testing.T) *detaching {
	t.Helper()
	// A target that nobody registers keeps the suite's operator from doing it.
	f := onTarget(t)
	f.children = suite.hub
	f.cinder()
	d := &detaching{fixture: f, old: f.heldBackend("nfs-a"), recorder: events.NewFakeRecorder(5)}
	f.edit(d.old, func() { d.old.Finalizers = append(d.old.Finalizers, "example.org/held") })
	f.deleteBackend(d.old)
	f.edit(d.old, func() {})
	f.Cleanup(func() { f.removeBackend(d.old) })
	return d
}

// removeBackend lets a backend go, after the test as well, whose own context is
// over then.
func (f *fixture) removeBackend(b *v1alpha1.CinderBackend) {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	defer cancel()
	for _, err := range []error{
		suite.hub.Delete(ctx, b.DeepCopy(), client.Preconditions{UID: &b.UID}),
		suite.hub.Patch(ctx, b.DeepCopy(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"uid":%q,"finalizers":null}}`, b.UID))),
	} {
		// A conflict says that another one has its name.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			f.Errorf("remove CinderBackend %s: %v", b.Name, err)
		}
	}
}

// pass moves the backend on, over the old copy of it.
func (d *detaching) pass() (stale bool) {
	d.Helper()
	target, cr := lagging{cached: suite.hub}, d.get()
	scope, err := projection.New(projection.Options{Scheme: suite.scheme, HubUID: "another-hub"}).Scope(target, cr)
	if err != nil {
		d.Fatal(err)
	}
	p := &cinder.Pass{Cinder: cr, Target: target, Scope: scope}
	p.Facts.ConfigMapName = "config"
	stale, err = cinder.Detach(d.Context(), suite.hub, d.recorder, p, d.old.DeepCopy())
	if err != nil {
		d.Fatal(err)
	}
	return stale
}

// Backends and their Jobs come by watches of their own: a backend may look as if
// it were still held when everything of it is done.
func TestABackendThatWasReleasedIsNotDetachedOnceMore(t *testing.T) {
	t.Parallel()
	for name, since := range map[string]func(d *detaching){
		"another finalizer holds it": func(d *detaching) {
			b := d.old.DeepCopy()
			d.edit(b, func() { b.Finalizers = []string{"example.org/held"} })
		},
		"it is gone": func(d *detaching) { d.removeBackend(d.old) },
		"another one has its name": func(d *detaching) {
			d.removeBackend(d.old)
			b := d.heldBackend(d.old.Name)
			d.Cleanup(func() { d.removeBackend(b) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDetaching(t)
			if d.pass() {
				t.Fatal("a backend that is held is taken for one that was released")
			}
			job := d.endJob(serviceRemoveJob, true)

			since(d)
			if !d.pass() {
				t.Error("the end of its Job is told once more")
			}
			if n := len(d.recorder.Events); n > 0 {
				t.Errorf("%d events were given", n)
			}
			if err := suite.hub.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				t.Fatal(err)
			}
			if !d.pass() {
				t.Error("the pass went on without a Job")
			}
			d.noChild(&batchv1.Job{}, serviceRemoveJob)
		})
	}
}
