// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/projection"
)

func TestApplyLabelsEveryKindOnATargetAndLeavesOwnerReferencesOff(t *testing.T) {
	f := onTarget(t)
	for _, s := range samples() {
		f.apply(s.make("child"))
		live := f.live(s.make("child"))
		for k, v := range f.ownershipLabels() {
			if live.GetLabels()[k] != v {
				t.Errorf("%s: label %s is %q, want %q", s.kind, k, live.GetLabels()[k], v)
			}
		}
		if refs := live.GetOwnerReferences(); len(refs) != 0 {
			t.Errorf("%s: owner references %v on a target", s.kind, refs)
		}
		if live.GetLabels()["app.kubernetes.io/name"] != "cinder" || live.GetAnnotations()["example.org/note"] == "" {
			t.Errorf("%s: the intent's own metadata is lost: %v %v", s.kind, live.GetLabels(), live.GetAnnotations())
		}
	}
}

func TestApplyGivesLocalChildrenAControllerOwnerReferenceAsWell(t *testing.T) {
	f := onHub(t)
	for _, s := range samples() {
		f.apply(s.make("child"))
		live := f.live(s.make("child"))
		ref := metav1.GetControllerOf(live)
		if ref == nil || ref.UID != f.owner.UID || ref.Kind != "ConfigMap" || ref.APIVersion != "v1" || ref.Name != f.owner.Name {
			t.Errorf("%s: controller reference is %v", s.kind, ref)
		}
		for k, v := range f.ownershipLabels() {
			if live.GetLabels()[k] != v {
				t.Errorf("%s: label %s is %q, want %q", s.kind, k, live.GetLabels()[k], v)
			}
		}
	}
}

func TestFiveHundredRepeatedAppliesWriteNothingAndReadNothingLive(t *testing.T) {
	f := onTarget(t)
	versions := map[string]string{}
	for _, s := range samples() {
		versions[s.kind] = f.apply(s.make("child")).GetResourceVersion()
	}
	f.target.calls.reset()
	for range 500 {
		for _, s := range samples() {
			live, err := projection.Apply(f.ctx, f.scope, s.make("child"))
			if err != nil {
				t.Fatal(err)
			}
			if live.GetResourceVersion() != versions[s.kind] {
				t.Fatalf("%s: resourceVersion %s, want %s", s.kind, live.GetResourceVersion(), versions[s.kind])
			}
		}
	}
	if calls := f.target.calls.all(); len(calls) != 0 {
		t.Errorf("%d requests, the first is %s", len(calls), calls[0])
	}
	for _, s := range samples() {
		if got := f.live(s.make("child")).GetResourceVersion(); got != versions[s.kind] {
			t.Errorf("%s: resourceVersion %s, want %s", s.kind, got, versions[s.kind])
		}
	}
}

func TestANewProcessAppliesOnceAndChangesNothing(t *testing.T) {
	f := onTarget(t)
	for _, s := range samples() {
		before := f.apply(s.make("child")).GetResourceVersion()
		f.target.calls.reset()
		fresh := f.scopeOf(projection.New(projection.Options{Scheme: scheme, HubUID: hubA}), f.target, f.owner)
		live, err := projection.Apply(f.ctx, fresh, s.make("child"))
		if err != nil {
			t.Fatal(err)
		}
		if live.GetResourceVersion() != before {
			t.Errorf("%s: the apply changed resourceVersion %s to %s", s.kind, before, live.GetResourceVersion())
		}
		if calls := f.target.calls.all(); len(calls) != 1 || f.target.calls.of("PATCH") != 1 {
			t.Errorf("%s: requests %v, want one PATCH", s.kind, calls)
		}
	}
}

func TestStatusChurnOfAKindWithGenerationsLeadsToNoApply(t *testing.T) {
	f := onTarget(t)
	live := f.apply(deployment("child"))
	status := f.live(live)
	f.status(status)
	f.target.calls.reset()
	got, err := projection.Apply(f.ctx, f.scope, deployment("child"))
	if err != nil {
		t.Fatal(err)
	}
	if calls := f.target.calls.all(); len(calls) != 0 {
		t.Errorf("requests %v", calls)
	}
	if got.Status.ReadyReplicas != 1 {
		t.Errorf("the returned object has not the live status: %+v", got.Status)
	}
}

func TestAFieldThatLeavesTheIntentIsTakenAway(t *testing.T) {
	f := onTarget(t)
	intent := configMap("child")
	intent.Data["gone"] = "soon"
	intent.Annotations["example.org/gone"] = "soon"
	f.apply(intent)
	f.apply(configMap("child"))
	live := f.live(configMap("child"))
	if !equality.Semantic.DeepEqual(data(live), map[string]string{"key": "value"}) {
		t.Errorf("data %v", data(live))
	}
	if _, there := live.GetAnnotations()["example.org/gone"]; there {
		t.Errorf("annotations %v", live.GetAnnotations())
	}
}

func TestWhatOthersAddStays(t *testing.T) {
	f := onTarget(t)
	f.apply(deployment("child"))
	f.edit(deployment("child"), func(o client.Object) {
		annotations := o.GetAnnotations()
		annotations["deployment.kubernetes.io/revision"] = "7"
		o.SetAnnotations(annotations)
	})
	changed := deployment("child")
	changed.Spec.Template.Spec.Containers[0].Image = "registry.example.org/cinder:2"
	f.apply(changed)
	if got := f.live(changed).GetAnnotations()["deployment.kubernetes.io/revision"]; got != "7" {
		t.Errorf("the annotation of another manager is %q", got)
	}
}
