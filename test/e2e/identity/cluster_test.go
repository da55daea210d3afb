// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"
	"testing"
	"time"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

func TestAnotherClusterBehindAKnownNameIsHeldUntilItIsAccepted(t *testing.T) {
	first, second := lab.Targets["edge-1"], lab.Targets["edge-2"]
	ns := lab.Namespace(t, "mixed-up", first, second)
	op := lab.StartOperator(t, quick...)
	site := lab.Register(t, "site", first)
	cinder := deploy(t, lab, harness.Cinder(ns, "cinder", "site"))
	before := children(t, first, cinder)
	was, is := string(first.UID(t)), string(second.UID(t))
	if got := cinder.Status.TargetCluster; got == nil || got.Name != "site" || got.UID != was {
		t.Fatalf("status.targetCluster is %+v, the cluster's UID %s", got, was)
	}

	marks := []harness.Mark{first.Mark(t), second.Mark(t)}
	pointTo(t, site, second)
	lab.WaitFor(t, 30*time.Second, cinder, unavailable(was), unavailable(is), unavailable(v1alpha1.AnnotationAcceptCluster+"="+is))
	annotate(t, lab.Hub, cinder, v1alpha1.AnnotationAcceptCluster, was) // of another one
	lab.HoldsFor(t, holdFor, cinder, unavailable(was), unavailable(is))
	for _, m := range marks {
		for _, r := range m.Writes(t) {
			t.Errorf("a Cinder that is held costs a write: %s %s", r.Verb, r.RequestURI)
		}
	}
	if cinder.Status.TargetCluster.UID != was {
		t.Errorf("status.targetCluster is %+v while the Cinder is held", cinder.Status.TargetCluster)
	}

	annotate(t, lab.Hub, cinder, v1alpha1.AnnotationAcceptCluster, is)
	lab.WaitReady(t, 2*harness.ReadyTimeout, cinder)
	if got := cinder.Status.TargetCluster; got.UID != is {
		t.Errorf("status.targetCluster is %+v after %s was accepted", got, is)
	}
	anew := children(t, second, cinder)
	if len(anew) < len(before)-1 {
		t.Errorf("projected anew are %v, before were %v", anew, before)
	}
	same(t, first, cinder, before)
	lab.WaitTold(t, 10*time.Second, cinder, "RemoteChildrenAbandoned")
	notes := abandonments(t, lab.Hub, cinder)
	if len(notes) != 1 || !strings.Contains(notes[0], was) || !strings.Contains(notes[0], `"site"`) || !strings.Contains(notes[0], "Deployment cinder") {
		t.Errorf("the warnings are %q", notes)
	}
	if !strings.Contains(op.Log(t), "children abandoned") {
		t.Error("the log does not say what was given up")
	}

	t.Run("and the former one is another cluster from then on", func(t *testing.T) {
		pointTo(t, site, first)
		lab.WaitFor(t, 30*time.Second, cinder, unavailable(was), unavailable(is))
		lab.HoldsFor(t, holdFor, cinder, unavailable(v1alpha1.AnnotationAcceptCluster+"="+was))
		same(t, first, cinder, before)
		same(t, second, cinder, anew)
		pointTo(t, site, second)
		lab.WaitReady(t, 30*time.Second, cinder)
	})
	t.Run("and the deletion takes the children on the accepted one alone", func(t *testing.T) {
		lab.Hub.Delete(t, cinder.DeepCopy())
		lab.Hub.WaitGone(t, time.Minute, cinder)
		second.WaitNoChildren(t, 30*time.Second, cinder)
		same(t, first, cinder, before)
		if notes := abandonments(t, lab.Hub, cinder); len(notes) != 1 {
			t.Errorf("the warnings are %q", notes)
		}
	})
}

func TestADeletedCinderIsHeldWhileAnotherClusterStandsBehindTheName(t *testing.T) {
	first, second := lab.Targets["edge-1"], lab.Targets["edge-2"]
	ns := lab.Namespace(t, "mixed-up-late", first, second)
	lab.StartOperator(t, append([]string{"--abandon-after=2s"}, quick...)...)
	site := lab.Register(t, "site", first)
	cinder := deploy(t, lab, harness.Cinder(ns, "cinder", "site"))
	before := children(t, first, cinder)
	was, is := string(first.UID(t)), string(second.UID(t))

	mark := second.Mark(t)
	pointTo(t, site, second)
	lab.WaitFor(t, 30*time.Second, cinder, unavailable(was), unavailable(is))
	lab.Hub.Delete(t, cinder.DeepCopy())
	lab.WaitFor(t, 30*time.Second, cinder, unavailable(v1alpha1.AnnotationAbandonChildren+"=true"), unavailable(v1alpha1.AnnotationAcceptCluster+"="+is))
	lab.HoldsFor(t, holdFor, cinder, unavailable(was), unavailable(is))

	annotate(t, lab.Hub, cinder, v1alpha1.AnnotationAcceptCluster, is)
	lab.Hub.WaitGone(t, 30*time.Second, cinder)
	same(t, first, cinder, before)
	lab.WaitTold(t, 10*time.Second, cinder, "RemoteChildrenAbandoned")
	if notes := abandonments(t, lab.Hub, cinder); len(notes) != 1 || !strings.Contains(notes[0], was) {
		t.Errorf("the warnings are %q", notes)
	}
	for _, r := range mark.Writes(t) {
		t.Errorf("a write on the cluster that held nothing: %s %s", r.Verb, r.RequestURI)
	}
}
