// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/projection"
)

func (f *fixture) sweep() []string {
	f.Helper()
	found, err := f.scope.Sweep(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for _, r := range found {
		out = append(out, r.GroupVersionKind.Kind+" "+r.Name)
	}
	slices.Sort(out)
	return out
}

func TestASweepTakesEveryKindAndReturnsWhatItFound(t *testing.T) {
	f := onTarget(t)
	var want []string
	for _, s := range samples() {
		f.apply(s.make("child"))
		want = append(want, s.kind+" child")
	}
	slices.Sort(want)
	if got := f.sweep(); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	for _, s := range samples() {
		if f.exists(s.make("child")) {
			t.Errorf("%s is left", s.kind)
		}
	}
	if got := f.sweep(); len(got) != 0 {
		t.Errorf("the second sweep found %v", got)
	}
}

func TestASweepTakesObjectsWithAControllerReferenceToTheOwner(t *testing.T) {
	f := onTarget(t)
	old := secret("old")
	old.Namespace = f.ns
	old.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: f.owner.Name,
		UID: f.owner.UID, Controller: ptr.To(true)}}
	f.create(old)
	namesake := secret("namesake")
	namesake.Namespace = f.ns
	namesake.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: f.owner.Name,
		UID: "another-incarnation", Controller: ptr.To(true)}}
	f.create(namesake)
	if got := f.sweep(); !slices.Equal(got, []string{"Secret old"}) {
		t.Errorf("found %v", got)
	}
	if f.exists(old) || !f.exists(namesake) {
		t.Errorf("old exists %v, namesake exists %v", f.exists(old), f.exists(namesake))
	}
}

func TestASweepTakesAChildWhoseHubLabelWasStripped(t *testing.T) {
	f := onTarget(t)
	f.apply(secret("child"))
	f.edit(secret("child"), func(o client.Object) { setLabel(o, projection.LabelOwnerHub, "") })
	if got := f.sweep(); !slices.Equal(got, []string{"Secret child"}) {
		t.Errorf("found %v", got)
	}
}

func TestASweepLeavesWhatIsNotOurs(t *testing.T) {
	f := onTarget(t)
	plain := secret("plain")
	plain.Namespace = f.ns
	f.create(plain)
	unadopted := f.predecessor(secret("unadopted"))
	f.create(unadopted)
	foreignHub := f.predecessor(secret("foreign-hub"))
	setLabel(foreignHub, projection.LabelOwnerHub, hubB)
	f.create(foreignHub)
	first := f.scope
	f.scope = f.scopeOf(f.p, f.target, f.newOwner("other"))
	f.apply(secret("of-another-owner"))
	f.scope = first
	if got := f.sweep(); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	for _, name := range []string{"plain", "unadopted", "foreign-hub", "of-another-owner"} {
		if !f.exists(secret(name)) {
			t.Errorf("%s was deleted", name)
		}
	}
}

func TestASweepDoesNotWaitForForeignFinalizers(t *testing.T) {
	f := onTarget(t)
	f.apply(secret("child"))
	f.edit(secret("child"), func(o client.Object) { o.SetFinalizers([]string{"example.org/held"}) })
	for i, terminating := range []bool{false, true} {
		f.target.calls.reset()
		found, err := f.scope.Sweep(f.ctx)
		if err != nil || len(found) != 1 || found[0].Terminating != terminating {
			t.Errorf("sweep %d: found %v, %v", i, found, err)
		}
	}
	if got := f.target.calls.of("DELETE"); got != 0 {
		t.Errorf("%d deletes of what is being deleted already", got)
	}
	f.release(secret("child"))
}

func TestOrphansAreTheChildrenOfThisHubWhoseOwnerIsGone(t *testing.T) {
	f := onTarget(t)
	f.apply(secret("child"))
	f.apply(deployment("child"))
	first := f.scope
	f.scope = f.scopeOf(f.p, f.target, f.newOwner("present"))
	f.apply(secret("present"))
	f.scope = first
	theirs := f.predecessor(secret("foreign-hub"))
	setLabel(theirs, projection.LabelOwnerHub, hubB)
	f.create(theirs)

	orphans, err := f.p.Orphans(f.ctx, f.target, []string{f.ns}, func(_ context.Context, kind, ns, name string) (bool, error) {
		if kind != "ConfigMap" || ns != f.ns {
			t.Errorf("asked for %s %s/%s", kind, ns, name)
		}
		return name != f.owner.Name, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range orphans {
		got = append(got, o.String()+" of "+o.OwnerName)
	}
	slices.Sort(got)
	want := []string{"Deployment " + f.ns + "/child of " + f.owner.Name, "Secret " + f.ns + "/child of " + f.owner.Name}
	if !slices.Equal(got, want) {
		t.Errorf("orphans %v, want %v", got, want)
	}
	if !f.exists(secret("child")) {
		t.Error("an orphan was deleted")
	}
}

func TestGetAndListAnswerFromTheCacheAndOnlyWithWhatIsOurs(t *testing.T) {
	f := onTarget(t)
	f.apply(secret("child"))
	special := secret("special")
	special.Labels["special"] = "yes"
	f.apply(special)
	theirs := secret("theirs")
	theirs.Namespace = f.ns
	f.create(theirs)
	first := f.scope
	f.scope = f.scopeOf(f.p, f.target, f.newOwner("other"))
	f.apply(secret("of-another-owner"))
	f.scope = first

	f.target.calls.reset()
	got := &corev1.Secret{}
	if err := f.scope.Get(f.ctx, "child", got); err != nil || data(got)["key"] != "value" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, name := range []string{"absent", "theirs", "of-another-owner"} {
		if err := f.scope.Get(f.ctx, name, &corev1.Secret{}); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("%s: got %v, want NotFound", name, err)
		}
	}
	for _, c := range []struct {
		sel  map[string]string
		want []string
	}{{nil, []string{"child", "special"}}, {map[string]string{"special": "yes"}, []string{"special"}}} {
		list := &corev1.SecretList{}
		if err := f.scope.List(f.ctx, list, c.sel); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		slices.Sort(names)
		if !slices.Equal(names, c.want) {
			t.Errorf("list with %v: %v, want %v", c.sel, names, c.want)
		}
	}
	if calls := f.target.calls.all(); len(calls) != 0 {
		t.Errorf("requests %v", calls)
	}
}
