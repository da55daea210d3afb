// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"c5c3.io/cinder-operator/test/e2e/apiservers"
)

func pdbConditions(o client.Object) *[]metav1.Condition {
	return &o.(*policyv1.PodDisruptionBudget).Status.Conditions
}

func TestStatusOnARealAPIServer(t *testing.T) {
	env := &envtest.Environment{}
	if err := apiservers.Frugal(); err != nil {
		t.Fatal(err)
	}
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("start an API server (KUBEBUILDER_ASSETS names its folder): %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one := intstr.FromInt32(1)
	newPDB := func(t *testing.T, name string) *policyv1.PodDisruptionBudget {
		pdb := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one},
		}
		if err := c.Create(t.Context(), pdb); err != nil {
			t.Fatal(err)
		}
		return pdb
	}
	live := func(t *testing.T, name string) *policyv1.PodDisruptionBudget {
		pdb := &policyv1.PodDisruptionBudget{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, pdb); err != nil {
			t.Fatal(err)
		}
		return pdb
	}
	// pass runs one pass over pdb at a time of its own.
	pass := func(t *testing.T, pdb *policyv1.PodDisruptionBudget, at time.Time, do func(conds *[]metav1.Condition)) error {
		s := Begin(pdb, pdbConditions)
		s.now = func() time.Time { return at }
		do(&pdb.Status.Conditions)
		return s.Write(t.Context(), c, pdb)
	}
	t0 := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

	t.Run("an outcome that did not change is not written", func(t *testing.T) {
		pdb := newPDB(t, "same")
		set := func(conds *[]metav1.Condition) { True(conds, 1, "A", "Fine", "") }
		if err := pass(t, pdb, t0, set); err != nil {
			t.Fatal(err)
		}
		before := live(t, "same").ResourceVersion
		if err := pass(t, pdb, t0.Add(time.Hour), set); err != nil {
			t.Fatal(err)
		}
		if after := live(t, "same").ResourceVersion; after != before {
			t.Errorf("the second pass wrote: %s, then %s", before, after)
		}
	})

	t.Run("a pass that was stopped has found nothing out", func(t *testing.T) {
		pdb := newPDB(t, "stopped")
		before := pdb.ResourceVersion
		ctx, stop := context.WithCancel(t.Context())
		s := Begin(pdb, pdbConditions)
		stop()
		False(&pdb.Status.Conditions, 1, "A", "Away", "the call was cut off")
		if err := s.Write(ctx, c, pdb); !errors.Is(err, context.Canceled) {
			t.Errorf("Write answers %v", err)
		}
		if after := live(t, "stopped").ResourceVersion; after != before {
			t.Error("what was cut off was stored")
		}
	})

	t.Run("a condition that changed its mind within the pass keeps its transition time", func(t *testing.T) {
		pdb := newPDB(t, "mind")
		if err := pass(t, pdb, t0, func(conds *[]metav1.Condition) { True(conds, 1, "A", "Fine", "") }); err != nil {
			t.Fatal(err)
		}
		if err := pass(t, pdb, t0.Add(time.Hour), func(conds *[]metav1.Condition) {
			False(conds, 1, "A", "Waiting", "")
			True(conds, 1, "A", "Fine", "and a new message")
		}); err != nil {
			t.Fatal(err)
		}
		got := meta.FindStatusCondition(live(t, "mind").Status.Conditions, "A")
		if !got.LastTransitionTime.Equal(&metav1.Time{Time: t0}) || got.Message != "and a new message" {
			t.Errorf("got %+v", got)
		}
		if err := pass(t, pdb, t0.Add(2*time.Hour), func(conds *[]metav1.Condition) { False(conds, 1, "A", "Waiting", "") }); err != nil {
			t.Fatal(err)
		}
		got = meta.FindStatusCondition(live(t, "mind").Status.Conditions, "A")
		if !got.LastTransitionTime.Equal(&metav1.Time{Time: t0.Add(2 * time.Hour)}) {
			t.Errorf("a real transition kept the old time: %+v", got)
		}
	})

	t.Run("a pass over a stale copy is refused", func(t *testing.T) {
		pdb := newPDB(t, "stale")
		stale := pdb.DeepCopy()
		if err := pass(t, pdb, t0, func(conds *[]metav1.Condition) { True(conds, 1, "A", "Fine", "") }); err != nil {
			t.Fatal(err)
		}
		err := pass(t, stale, t0, func(conds *[]metav1.Condition) { False(conds, 1, "A", "Old", "") })
		if !apierrors.IsConflict(err) {
			t.Fatalf("got %v, want a Conflict", err)
		}
		if got := live(t, "stale").Status.Conditions[0]; got.Reason != "Fine" {
			t.Errorf("the newer outcome was overwritten: %+v", got)
		}
	})

	t.Run("a finalizer added within the pass is no conflict", func(t *testing.T) {
		pdb := newPDB(t, "finalizer")
		if err := pass(t, pdb, t0, func(conds *[]metav1.Condition) {
			base := pdb.DeepCopy()
			pdb.Finalizers = append(pdb.Finalizers, "example.org/held")
			kept := pdb.Status.DeepCopy()
			if err := c.Patch(t.Context(), pdb, client.MergeFrom(base)); err != nil {
				t.Fatal(err)
			}
			pdb.Status = *kept
			True(conds, 1, "A", "Fine", "")
		}); err != nil {
			t.Fatal(err)
		}
		if got := live(t, "finalizer"); len(got.Status.Conditions) != 1 || len(got.Finalizers) != 1 {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("an object that is gone is no error", func(t *testing.T) {
		pdb := newPDB(t, "gone")
		if err := c.Delete(t.Context(), pdb.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		if err := pass(t, pdb, t0, func(conds *[]metav1.Condition) { True(conds, 1, "A", "Fine", "") }); err != nil {
			t.Errorf("got %v", err)
		}
	})
}
