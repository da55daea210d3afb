// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/projection"
)

// drift is one way in which a child is spoiled behind the operator's back.
type drift struct {
	name string
	// local: the hub alone has what is spoiled.
	local bool
	do    func(f *fixture, s sample, o client.Object)
}

func drifts() []drift {
	return []drift{
		{name: "a field of the spec or data is edited", do: func(f *fixture, s sample, o client.Object) { f.edit(o, s.edit) }},
		{name: "every label is stripped", do: func(f *fixture, _ sample, o client.Object) {
			f.edit(o, func(o client.Object) { o.SetLabels(nil) })
		}},
		{name: "the hub label is stripped", do: func(f *fixture, _ sample, o client.Object) {
			f.edit(o, func(o client.Object) { setLabel(o, projection.LabelOwnerHub, "") })
		}},
		{name: "the owner's label is stripped", do: func(f *fixture, _ sample, o client.Object) {
			f.edit(o, func(o client.Object) { setLabel(o, projection.LabelOwnerName, "") })
		}},
		{name: "the owner's label is edited", do: func(f *fixture, _ sample, o client.Object) {
			f.edit(o, func(o client.Object) { setLabel(o, projection.LabelOwnerName, "other") })
		}},
		{name: "the hub label is edited", do: func(f *fixture, _ sample, o client.Object) {
			f.edit(o, func(o client.Object) { setLabel(o, projection.LabelOwnerHub, "other") })
		}},
		{name: "an annotation is edited", do: func(f *fixture, _ sample, o client.Object) {
			f.edit(o, func(o client.Object) { o.SetAnnotations(map[string]string{"example.org/note": "other"}) })
		}},
		{name: "an annotation is stripped", do: func(f *fixture, _ sample, o client.Object) {
			f.edit(o, func(o client.Object) { o.SetAnnotations(nil) })
		}},
		{name: "the owner reference is stripped", local: true, do: func(f *fixture, _ sample, o client.Object) {
			f.edit(o, func(o client.Object) { o.SetOwnerReferences(nil) })
		}},
		{name: "the owner reference is no controller any more", local: true, do: func(f *fixture, _ sample, o client.Object) {
			f.edit(o, func(o client.Object) {
				refs := o.GetOwnerReferences()
				refs[0].Controller = nil
				o.SetOwnerReferences(refs)
			})
		}},
		{name: "it is deleted", do: func(f *fixture, _ sample, o client.Object) { f.remove(o) }},
	}
}

func TestTheNextApplyRepairsEveryDriftOfEveryKind(t *testing.T) {
	for _, where := range []struct {
		name string
		make func(*testing.T) *fixture
		hub  bool
	}{{"on a target", onTarget, false}, {"on the hub", onHub, true}} {
		for _, s := range samples() {
			t.Run(s.kind+" "+where.name, func(t *testing.T) {
				f := where.make(t)
				for _, d := range drifts() {
					if d.local && !where.hub {
						continue
					}
					want := essence(t, f.apply(s.make("child")))
					d.do(f, s, s.make("child"))
					if f.exists(s.make("child")) && equality.Semantic.DeepEqual(essence(t, f.live(s.make("child"))), want) {
						t.Fatalf("%s: nothing was spoiled", d.name)
					}
					if _, err := projection.Apply(f.ctx, f.scope, s.make("child")); err != nil {
						t.Errorf("%s: %v", d.name, err)
						continue
					}
					if got := essence(t, f.live(s.make("child"))); !equality.Semantic.DeepEqual(got, want) {
						t.Errorf("%s: not repaired:\n got %v\nwant %v", d.name, got, want)
					}
					f.awaitCached(s.make("child"))
				}
			})
		}
	}
}

// essence is an object without what changes from write to write, and from one
// incarnation to the next.
func essence(t *testing.T, obj client.Object) map[string]any {
	t.Helper()
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj.DeepCopyObject())
	if err != nil {
		t.Fatal(err)
	}
	labels := stringsOf(obj.GetLabels())
	for k := range labels {
		// The API server labels a Job that is stored without labels.
		if strings.HasPrefix(k, "batch.kubernetes.io/") || k == "controller-uid" || k == "job-name" {
			delete(labels, k)
		}
	}
	meta := map[string]any{"labels": labels, "annotations": stringsOf(obj.GetAnnotations())}
	if c := metav1.GetControllerOf(obj); c != nil {
		meta["controller"] = string(c.UID)
	}
	for _, generated := range [][]string{
		{"apiVersion"}, {"kind"}, {"status"},
		{"spec", "clusterIP"}, {"spec", "clusterIPs"},
		{"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"},
		{"spec", "template", "metadata", "labels"},
	} {
		unstructured.RemoveNestedField(u, generated...)
	}
	u["metadata"] = meta
	return u
}

func stringsOf(m map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// setLabel sets a label, or strips it where the value is empty.
func setLabel(o client.Object, key, value string) {
	labels := o.GetLabels()
	labels[key] = value
	if value == "" {
		delete(labels, key)
	}
	o.SetLabels(labels)
}
