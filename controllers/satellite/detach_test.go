// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// leaving is a deleted backend that its finalizer holds.
func leaving(f *fixture) *v1alpha1.CinderBackend {
	f.t.Helper()
	b := nfsBackend(f.namespace)
	b.Finalizers = []string{v1alpha1.FinalizerServiceRemove}
	must(f.t, api.Create(f.ctx, b))
	must(f.t, api.Delete(f.ctx, b))
	return b
}

func TestABackendWithoutItsCinderIsReleasedWithAnEvent(t *testing.T) {
	f := newFixture(t)
	must(t, api.Delete(f.ctx, f.cinder))
	b := leaving(f)

	f.mustPass(b)
	if err := api.Get(f.ctx, client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) {
		t.Errorf("get the backend: %v, want NotFound", err)
	}
	want := []string{"CinderBackend/nfs-a Normal ServiceRemoveSkipped"}
	if got := f.recorder.events(); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

func TestABackendWhoseCinderExistsWaitsToBeUnregistered(t *testing.T) {
	f := newFixture(t)
	b := leaving(f)

	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionReady, "False/"+v1alpha1.ReasonDetaching)
	if !slices.Contains(b.Finalizers, v1alpha1.FinalizerServiceRemove) {
		t.Error("the finalizer is gone")
	}
	if events := f.recorder.events(); len(events) > 0 {
		t.Errorf("events %q, want none", events)
	}
}

func TestABackendOfACinderThatIsBeingDeletedSaysWhatItWaitsFor(t *testing.T) {
	f := newFixture(t)
	f.cinder.Finalizers = []string{v1alpha1.FinalizerRemoteChildren}
	must(t, api.Update(f.ctx, f.cinder))
	must(t, api.Delete(f.ctx, f.cinder))
	b := leaving(f)

	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionReady, "False/"+v1alpha1.ReasonDetaching)
	if got := f.message(b, v1alpha1.ConditionReady); !strings.Contains(got, v1alpha1.FinalizerRemoteChildren) {
		t.Errorf("message %q does not say what the Cinder waits for", got)
	}
}

func TestALivingBackendGetsNoFinalizer(t *testing.T) {
	f := newFixture(t)
	b := nfsBackend(f.namespace)
	must(t, api.Create(f.ctx, b))
	f.project(b)
	f.mustPass(b)
	if len(b.Finalizers) > 0 {
		t.Errorf("finalizers %q, want none while nothing would release them", b.Finalizers)
	}
}
