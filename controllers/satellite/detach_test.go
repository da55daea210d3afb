// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// A cache may still show a backend that was released a moment ago.
func TestAReleasedBackendIsToldOfOnce(t *testing.T) {
	f := newFixture(t)
	must(t, api.Delete(f.ctx, f.cinder))
	b := leaving(f)
	must(t, api.Get(f.ctx, client.ObjectKeyFromObject(b), b))
	f.options.Client = lagging{f.options.Client, b.DeepCopy()}

	f.mustPass(b.DeepCopy())
	f.mustPass(b.DeepCopy())
	want := []string{"CinderBackend/nfs-a Normal ServiceRemoveSkipped"}
	if got := f.recorder.events(); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

// lagging reads a backend as it was.
type lagging struct {
	client.Client
	old *v1alpha1.CinderBackend
}

func (l lagging) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if into, ok := obj.(*v1alpha1.CinderBackend); ok {
		l.old.DeepCopyInto(into)
		return nil
	}
	return l.Client.Get(ctx, key, obj, opts...)
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

func TestABackendIsHeldBeforeItsCredentialsAreSaidToBeReady(t *testing.T) {
	f := newFixture(t)
	b := rbdBackend(f.namespace)
	must(t, api.Create(f.ctx, b))
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionCredentialsReady, "False/"+v1alpha1.ReasonWaitingForCredentials)
	if len(b.Finalizers) > 0 {
		t.Errorf("finalizers %q, want none while nothing of it is rendered", b.Finalizers)
	}

	must(t, api.Create(f.ctx, cephSecret(f.namespace)))
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionCredentialsReady, "True/"+v1alpha1.ReasonCredentialsAvailable)
	f.expect(b, v1alpha1.ConditionConfigProjected, "False/"+v1alpha1.ReasonWaitingForProjection)
	if !slices.Equal(b.Finalizers, []string{v1alpha1.FinalizerServiceRemove}) {
		t.Errorf("finalizers %q, want that of the detach", b.Finalizers)
	}
	version := b.ResourceVersion
	f.mustPass(b)
	if b.ResourceVersion != version {
		t.Errorf("a second pass wrote: version %s after %s", b.ResourceVersion, version)
	}
}

func TestABackendThatCannotBeHeldIsNotSaidToBeReady(t *testing.T) {
	f := newFixture(t)
	b := nfsBackend(f.namespace)
	must(t, api.Create(f.ctx, b))
	f.options.Client = refusing{f.options.Client}
	if _, err := f.pass(b); err == nil {
		t.Error("the pass ended without an error")
	}
	must(t, api.Get(f.ctx, client.ObjectKeyFromObject(b), b))
	if len(b.Status.Conditions) > 0 {
		t.Errorf("conditions %v, want none", b.Status.Conditions)
	}
}

// refusing refuses every patch but that of a status.
type refusing struct{ client.Client }

func (refusing) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return errors.New("not now")
}

func TestABackupTargetIsNotHeld(t *testing.T) {
	f := newFixture(t)
	b := nfsBackup(f.namespace)
	must(t, api.Create(f.ctx, b))
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionCredentialsReady, "True/"+v1alpha1.ReasonCredentialsNotRequired)
	if len(b.Finalizers) > 0 {
		t.Errorf("finalizers %q, want none: nothing of it has to be unregistered", b.Finalizers)
	}
}

func TestALeavingBackendSaysWhatItsCinderWaitsFor(t *testing.T) {
	t.Parallel()
	parent := newCinder("ns")
	const away = `target cluster "edge-1" is unreachable since noon: refused`
	for _, deleted := range []bool{false, true} {
		parent.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSecretsReady, Status: metav1.ConditionFalse, Message: away}}
		if deleted {
			now := metav1.Now()
			parent.DeletionTimestamp = &now
		}
		if got := detachingMessage(parent); !strings.HasSuffix(got, ": "+away) {
			t.Errorf("deleted: %t; the message is %q", deleted, got)
		}
		parent.Status.Conditions[0].Status = metav1.ConditionTrue
		if got := detachingMessage(parent); strings.Contains(got, away) {
			t.Errorf("deleted: %t; the message is %q when nothing is amiss", deleted, got)
		}
	}
}
