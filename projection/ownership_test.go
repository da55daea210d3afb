// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/projection"
)

// refuses fails unless applying is refused, with every word in the message, and
// the object is as it was.
func (f *fixture) refuses(s *projection.Scope, obj client.Object, words ...string) {
	f.Helper()
	before := f.live(obj)
	_, err := projection.Apply(f.ctx, s, obj)
	var foreign *projection.ForeignObjectError
	if !errors.As(err, &foreign) {
		f.Fatalf("apply %T: got %v, want a ForeignObjectError", obj, err)
	}
	for _, w := range append(words, obj.GetName()) {
		if !strings.Contains(err.Error(), w) {
			f.Errorf("apply %T: message %q does not name %q", obj, err, w)
		}
	}
	if after := f.live(obj); !equality.Semantic.DeepEqual(before, after) {
		f.Errorf("apply %T: the foreign object was changed:\n%v\n%v", obj, before, after)
	}
}

func TestAForeignObjectIsRefusedByNameAndLeftUnchanged(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *fixture{"on a target": onTarget, "on the hub": onHub} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			for _, s := range samples() {
				theirs := s.make("taken")
				theirs.SetNamespace(f.ns)
				f.create(theirs)
				f.refuses(f.scope, s.make("taken"), s.kind, f.ns+"/taken", somebody, f.target.String())
			}
		})
	}
}

// restarted is the scope of another owner in a process that remembers nothing.
func (f *fixture) restarted(name string) *projection.Scope {
	f.Helper()
	return f.scopeOf(projection.New(projection.Options{Scheme: scheme, HubUID: hubA}), f.target, f.newOwner(name))
}

func TestTheChildOfAnotherOwnerOfThisHubIsRefusedNamingIt(t *testing.T) {
	f := onTarget(t)
	f.apply(deployment("x-scheduler"))
	f.refuses(f.restarted("other"), deployment("x-scheduler"), "ConfigMap "+f.ns+"/"+f.owner.Name)
}

func TestTheChildOfAnotherOwnerOfThisHubIsRefusedAlsoWithoutItsHubLabel(t *testing.T) {
	f := onTarget(t)
	f.apply(deployment("x-scheduler"))
	f.edit(deployment("x-scheduler"), func(o client.Object) { setLabel(o, projection.LabelOwnerHub, "") })
	f.refuses(f.restarted("other"), deployment("x-scheduler"), "ConfigMap "+f.ns+"/"+f.owner.Name)
}

func TestTheChildOfAnotherOwnerOfThisHubIsRefusedAlsoWithoutAnyLabel(t *testing.T) {
	f := onTarget(t)
	f.apply(deployment("x-scheduler"))
	f.edit(deployment("x-scheduler"), func(o client.Object) { o.SetLabels(nil) })
	other := f.scopeOf(f.p, f.target, f.newOwner("other"))
	f.refuses(other, deployment("x-scheduler"))
	f.apply(deployment("x-scheduler"))
}

func TestTwoHubsOnOneNamespaceTheSecondIsRefusedNamingTheFirst(t *testing.T) {
	f := onTarget(t)
	for _, s := range samples() {
		f.apply(s.make("child"))
	}
	second := f.scopeOf(projection.New(projection.Options{Scheme: scheme, HubUID: hubB}),
		newTarget(t, edge, f.ns, hubB), f.owner)
	for _, s := range samples() {
		f.refuses(second, s.make("child"), s.kind, hubA, f.owner.Name)
	}
}

func TestTheSecondHubIsRefusedAlsoWhereTheFirstHubsLabelWasTakenOff(t *testing.T) {
	f := onTarget(t)
	f.apply(deployment("child"))
	f.edit(deployment("child"), func(o client.Object) { setLabel(o, projection.LabelOwnerHub, "") })
	second := f.scopeOf(projection.New(projection.Options{Scheme: scheme, HubUID: hubB}),
		newTarget(t, edge, f.ns, hubB), f.owner)
	f.refuses(second, deployment("child"), hubA)
}

// predecessor is a child as an operator without the hub label left it.
func (f *fixture) predecessor(obj client.Object) client.Object {
	obj.SetNamespace(f.ns)
	labels := f.ownershipLabels()
	delete(labels, projection.LabelOwnerHub)
	for k, v := range obj.GetLabels() {
		labels[k] = v
	}
	obj.SetLabels(labels)
	return obj
}

func TestTheObjectOfAnOperatorWithoutTheHubLabelIsAdopted(t *testing.T) {
	f := onTarget(t)
	for _, s := range samples() {
		theirs := f.predecessor(s.make("child"))
		theirs.SetAnnotations(map[string]string{"example.org/theirs": "1"})
		f.create(theirs)
		f.apply(s.make("child"))
		live := f.live(theirs)
		if live.GetUID() != theirs.GetUID() {
			t.Errorf("%s: it was replaced by a new object", s.kind)
		}
		if live.GetLabels()[projection.LabelOwnerHub] != hubA {
			t.Errorf("%s: labels %v", s.kind, live.GetLabels())
		}
		if _, there := live.GetAnnotations()["example.org/theirs"]; there {
			t.Errorf("%s: an annotation of the previous manager is left", s.kind)
		}
		for _, e := range live.GetManagedFields() {
			if e.Subresource == "" && e.Manager != projection.FieldManager(hubA) {
				t.Errorf("%s: %s still manages %s", s.kind, e.Manager, e.FieldsV1.GetRawString())
			}
		}
	}
}

func TestAdoptionDropsTheSecondContainerOfThePreviousManager(t *testing.T) {
	f := onTarget(t)
	theirs := f.predecessor(deployment("child")).(*appsv1.Deployment)
	pod := &theirs.Spec.Template.Spec
	pod.Containers = append(pod.Containers, corev1.Container{Name: "second", Image: "registry.example.org/second:1"})
	pod.Containers[0].Args = []string{"--theirs"}
	theirs.Spec.Template.Annotations = map[string]string{"example.org/theirs": "1"}
	f.create(theirs)
	// More than one manager has left its mark.
	f.edit(theirs, func(o client.Object) {
		o.(*appsv1.Deployment).Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "registry.example.org/init:1"}}
	})

	f.apply(deployment("child"))
	got := f.live(theirs).(*appsv1.Deployment).Spec.Template
	if len(got.Spec.Containers) != 1 || got.Spec.Containers[0].Name != "api" {
		t.Errorf("containers %v", got.Spec.Containers)
	}
	if len(got.Spec.InitContainers) != 0 || len(got.Spec.Containers[0].Args) != 0 || len(got.Annotations) != 0 {
		t.Errorf("left of the previous managers: %v %v %v", got.Spec.InitContainers, got.Spec.Containers[0].Args, got.Annotations)
	}
}

func TestAdoptionAlsoReplacesWhatAnotherManagerApplied(t *testing.T) {
	f := onTarget(t)
	theirs := f.predecessor(configMap("child")).(*corev1.ConfigMap)
	theirs.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	theirs.Data["theirs"] = "1"
	//nolint:staticcheck // The typed apply of another operator.
	if err := f.admin.Patch(f.ctx, theirs, client.Apply, client.FieldOwner("another-operator")); err != nil {
		t.Fatal(err)
	}
	f.apply(configMap("child"))
	if got := data(f.live(theirs)); len(got) != 1 || got["key"] != "value" {
		t.Errorf("data %v", got)
	}
}

func TestAdoptionLeavesFinalizersAndTheirManagerAlone(t *testing.T) {
	f := onTarget(t)
	theirs := f.predecessor(database("child"))
	theirs.SetFinalizers([]string{"example.org/cleanup"})
	f.create(theirs)
	f.apply(database("child"))
	live := f.live(theirs)
	if got := live.GetFinalizers(); len(got) != 1 {
		t.Errorf("finalizers %v", got)
	}
	f.edit(theirs, func(o client.Object) { o.SetFinalizers(nil) })
}

func TestALocalChildWithAControllerReferenceToTheOwnerIsOursWhateverItsHubLabel(t *testing.T) {
	f := onHub(t)
	for _, s := range samples() {
		theirs := f.predecessor(s.make("child"))
		setLabel(theirs, projection.LabelOwnerHub, "the-hub-before-it-was-rebuilt")
		theirs.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: f.owner.Name,
			UID: f.owner.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}})
		f.create(theirs)
		f.apply(s.make("child"))
		if got := f.live(theirs).GetLabels()[projection.LabelOwnerHub]; got != hubA {
			t.Errorf("%s: hub label %q", s.kind, got)
		}
	}
}

func TestAControllerReferenceDoesNotMakeAChildOursOnATarget(t *testing.T) {
	f := onTarget(t)
	theirs := secret("child")
	theirs.Namespace = f.ns
	theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: f.owner.Name,
		UID: f.owner.UID, Controller: ptr.To(true)}}
	f.create(theirs)
	f.refuses(f.scope, secret("child"), "ConfigMap")
}

func TestAnEarlierIncarnationsLocalChildIsTakenOver(t *testing.T) {
	f := onHub(t)
	f.apply(deployment("child"))
	first := f.owner
	if err := f.admin.Delete(f.ctx, first); err != nil {
		t.Fatal(err)
	}
	f.owner = f.newOwner("cinder")
	f.scope = f.scopeOf(f.p, f.target, f.owner)
	f.apply(deployment("child"))
	refs := f.live(deployment("child")).GetOwnerReferences()
	if len(refs) != 1 || refs[0].UID != f.owner.UID {
		t.Errorf("owner references %v, want the one of %s", refs, f.owner.UID)
	}
}

func TestALocalChildUnderAForeignControllerIsRefusedNamingIt(t *testing.T) {
	f := onHub(t)
	f.apply(secret("child"))
	f.edit(secret("child"), func(o client.Object) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Other", Name: "boss",
			UID: "another-uid", Controller: ptr.To(true)}})
	})
	f.refuses(f.scope, secret("child"), "Other boss")
}

func TestAnObjectThatWouldBeAdoptedStaysWithItsForeignController(t *testing.T) {
	f := onHub(t)
	theirs := f.predecessor(secret("child"))
	theirs.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Other", Name: "boss",
		UID: "another-uid", Controller: ptr.To(true)}})
	f.create(theirs)
	f.refuses(f.scope, secret("child"), "Other boss")
}

func TestTheContentOfAForeignSecretIsNeverRead(t *testing.T) {
	f := onTarget(t)
	theirs := secret("child")
	theirs.Namespace = f.ns
	f.create(theirs)
	f.target.calls.reset()
	f.refuses(f.scope, secret("child"))
	if _, err := f.scope.Delete(f.ctx, secret("child"), metav1.DeletePropagationBackground); err != nil {
		t.Fatal(err)
	}
	f.sweep()
	if n := f.target.calls.withContent("secrets"); n != 0 {
		t.Errorf("%d reads of whole Secrets: %v", n, f.target.calls.all())
	}
}
