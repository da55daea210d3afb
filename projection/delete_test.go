// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/projection"
)

// hold applies a child and deletes it under a finalizer of somebody else.
func (f *fixture) hold(obj client.Object) {
	f.Helper()
	f.apply(obj)
	f.edit(obj, func(o client.Object) { o.SetFinalizers([]string{"example.org/held"}) })
	f.remove(obj)
}

func TestApplyWaitsForAnObjectThatIsBeingDeleted(t *testing.T) {
	f := onTarget(t)
	f.hold(deployment("child"))
	f.target.calls.reset()
	_, err := projection.Apply(f.ctx, f.scope, deployment("child"))
	var terminating *projection.TerminatingError
	if !errors.Is(err, projection.ErrTerminating) || !errors.As(err, &terminating) {
		t.Fatalf("got %v, want ErrTerminating", err)
	}
	if !strings.Contains(err.Error(), "example.org/held") || !strings.Contains(err.Error(), "Deployment "+f.ns+"/child") {
		t.Errorf("message %q", err)
	}
	if calls := f.target.calls.all(); len(calls) != 0 {
		t.Errorf("requests %v", calls)
	}
	f.release(deployment("child"))
	f.apply(deployment("child"))
}

func TestDeleteTellsWhetherAnythingIsLeft(t *testing.T) {
	f := onTarget(t)
	for _, s := range samples() {
		gone, err := f.scope.Delete(f.ctx, s.make("child"), metav1.DeletePropagationBackground)
		if err != nil || !gone {
			t.Errorf("%s that never was: gone %v, %v", s.kind, gone, err)
		}
		f.apply(s.make("child"))
		gone, err = f.scope.Delete(f.ctx, s.make("child"), metav1.DeletePropagationBackground)
		if err != nil || !gone || f.exists(s.make("child")) {
			t.Errorf("%s: gone %v, exists %v, %v", s.kind, gone, f.exists(s.make("child")), err)
		}
	}
}

func TestDeleteWaitsWithoutDeletingTwiceWhileAFinalizerHolds(t *testing.T) {
	f := onTarget(t)
	f.apply(secret("child"))
	f.edit(secret("child"), func(o client.Object) { o.SetFinalizers([]string{"example.org/held"}) })
	for i, deletes := range []int{1, 0} {
		f.target.calls.reset()
		gone, err := f.scope.Delete(f.ctx, secret("child"), metav1.DeletePropagationBackground)
		if err != nil || gone {
			t.Fatalf("call %d: gone %v, %v", i, gone, err)
		}
		if got := f.target.calls.of("DELETE"); got != deletes {
			t.Errorf("call %d: %d deletes, want %d", i, got, deletes)
		}
	}
	f.release(secret("child"))
	if gone, err := f.scope.Delete(f.ctx, secret("child"), metav1.DeletePropagationBackground); err != nil || !gone {
		t.Errorf("after the release: gone %v, %v", gone, err)
	}
}

func TestDeleteNamesItsPropagation(t *testing.T) {
	f := onTarget(t)
	f.apply(deployment("child"))
	gone, err := f.scope.Delete(f.ctx, deployment("child"), metav1.DeletePropagationForeground)
	if err != nil || gone {
		t.Fatalf("gone %v, %v", gone, err)
	}
	if got := f.live(deployment("child")).GetFinalizers(); len(got) != 1 || got[0] != metav1.FinalizerDeleteDependents {
		t.Errorf("finalizers %v", got)
	}
}

func TestDeleteLeavesAForeignObjectAlone(t *testing.T) {
	f := onTarget(t)
	for _, s := range samples() {
		theirs := s.make("child")
		theirs.SetNamespace(f.ns)
		f.create(theirs)
		gone, err := f.scope.Delete(f.ctx, s.make("child"), metav1.DeletePropagationBackground)
		if err != nil || !gone || !f.exists(theirs) {
			t.Errorf("%s: gone %v, exists %v, %v", s.kind, gone, f.exists(theirs), err)
		}
	}
}

func TestDeleteFindsAChildWhoseLabelsWereStripped(t *testing.T) {
	f := onTarget(t)
	f.apply(secret("child"))
	f.edit(secret("child"), func(o client.Object) { o.SetLabels(nil) })
	gone, err := f.scope.Delete(f.ctx, secret("child"), metav1.DeletePropagationBackground)
	if err != nil || !gone || f.exists(secret("child")) {
		t.Errorf("gone %v, exists %v, %v", gone, f.exists(secret("child")), err)
	}
}

func TestDeleteOfAKindThatIsNotServedFindsNothing(t *testing.T) {
	f := onTarget(t)
	gone, err := f.scope.Delete(f.ctx, podAutoscaler("child"), metav1.DeletePropagationBackground)
	if err != nil || !gone {
		t.Errorf("gone %v, %v", gone, err)
	}
}
