// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/projection"
)

// revise applies a revision with the given content and waits for the cache.
func (f *fixture) revise(base, content string) string {
	f.Helper()
	obj := secret("")
	obj.Data = map[string][]byte{"backend.conf": []byte(content)}
	name, err := f.scope.ApplyRevision(f.ctx, base, obj)
	if err != nil {
		f.Fatal(err)
	}
	f.awaitCached(secret(name))
	return name
}

func (f *fixture) reviseTimes(base string, n int) []string {
	f.Helper()
	var names []string
	for i := range n {
		names = append(names, f.revise(base, fmt.Sprint(i)))
	}
	return names
}

func (f *fixture) prune(base, current string) {
	f.Helper()
	if err := f.scope.PruneRevisions(f.ctx, &corev1.Secret{}, base, current); err != nil {
		f.Fatal(err)
	}
	f.awaitAllCached()
}

// awaitAllCached waits until the cache holds as many Secrets of ours as there
// are.
func (f *fixture) awaitAllCached() {
	f.Helper()
	f.eventually("the cache shows the deletions", func() (bool, error) {
		live, cached := &corev1.SecretList{}, &corev1.SecretList{}
		if err := f.admin.List(f.ctx, live, client.InNamespace(f.ns), client.MatchingLabels(f.ownershipLabels())); err != nil {
			return false, err
		}
		err := f.target.client.List(f.ctx, cached, client.InNamespace(f.ns), client.MatchingLabels(f.ownershipLabels()))
		return err == nil && len(live.Items) == len(cached.Items), err
	})
}

// left are the names among those given that still exist.
func (f *fixture) left(names []string) []string {
	f.Helper()
	var out []string
	for _, n := range names {
		if f.exists(secret(n)) {
			out = append(out, n)
		}
	}
	return out
}

func (f *fixture) wantLeft(names []string, want ...string) {
	f.Helper()
	if got := f.left(names); !slices.Equal(got, want) {
		f.Errorf("left %v, want %v of %v", got, want, names)
	}
}

func TestARevisionIsImmutableAndNamedAfterItsContent(t *testing.T) {
	f := onTarget(t)
	name := f.revise("cinder-backend-nfs-a", "one")
	if !strings.HasPrefix(name, "cinder-backend-nfs-a-") || len(name) != len("cinder-backend-nfs-a-")+10 {
		t.Errorf("name %q", name)
	}
	live := f.live(secret(name)).(*corev1.Secret)
	if !ptr.Deref(live.Immutable, false) || live.Labels[projection.LabelRevisionBase] != "cinder-backend-nfs-a" {
		t.Errorf("immutable %v, labels %v", live.Immutable, live.Labels)
	}
	f.target.calls.reset()
	if again := f.revise("cinder-backend-nfs-a", "one"); again != name {
		t.Errorf("the same content got the names %q and %q", name, again)
	}
	if other := f.revise("cinder-backend-nfs-a", "two"); other == name {
		t.Errorf("other content got the same name %q", other)
	}
	if got := f.target.calls.of("PATCH"); got != 1 {
		t.Errorf("%d writes, want one for the new content", got)
	}
}

func TestAConfigMapRevisionHoldsTextAndBytes(t *testing.T) {
	f := onTarget(t)
	obj := configMap("")
	obj.BinaryData = map[string][]byte{"bin": {0, 1}}
	first, err := f.scope.ApplyRevision(f.ctx, "cinder-config", obj)
	if err != nil {
		t.Fatal(err)
	}
	obj.BinaryData["bin"] = []byte{0, 2}
	second, err := f.scope.ApplyRevision(f.ctx, "cinder-config", obj)
	if err != nil || first == second {
		t.Errorf("names %q and %q, %v", first, second, err)
	}
}

func TestABaseLongerThanALabelIsFoundAgain(t *testing.T) {
	f := onTarget(t)
	base := "cinder-backend-" + strings.Repeat("x", 60)
	names := []string{f.revise(base, "1"), f.revise(base+"y", "1")}
	bases, err := f.scope.RevisionBases(f.ctx, &corev1.Secret{})
	if err != nil || !slices.Equal(bases, []string{base, base + "y"}) {
		t.Errorf("bases %v, %v", bases, err)
	}
	f.edit(secret(names[0]), func(o client.Object) { o.SetAnnotations(nil) })
	if err := f.scope.SweepRevisions(f.ctx, &corev1.Secret{}, base); err != nil {
		t.Fatal(err)
	}
	f.wantLeft(names, names[1])
}

func TestARevisionOfOtherContentUnderItsNameIsReplaced(t *testing.T) {
	for _, immutable := range []bool{true, false} {
		t.Run(fmt.Sprintf("immutable %v", immutable), func(t *testing.T) {
			f := onTarget(t)
			name := f.revise("base", "content")
			original := f.live(secret(name)).(*corev1.Secret)
			f.remove(secret(name))
			forged := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name, Labels: original.Labels},
				Data: map[string][]byte{"backend.conf": []byte("forged"), "more": []byte("forged")}, Immutable: &immutable}
			f.create(forged)
			f.awaitCached(forged)
			f.revise("base", "content")
			if got := data(f.live(secret(name))); len(got) != 1 || got["backend.conf"] != "content" {
				t.Errorf("content %v", got)
			}
		})
	}
}

func TestOfTwentyRevisionsTheCurrentAndThreeOldOnesAreKept(t *testing.T) {
	f := onTarget(t)
	names := f.reviseTimes("base", 20)
	f.prune("base", names[19])
	f.wantLeft(names, names[16:]...)
}

func TestWithoutACurrentRevisionTheThreeNewestAreKept(t *testing.T) {
	f := onTarget(t)
	names := f.reviseTimes("base", 6)
	f.prune("base", "")
	f.wantLeft(names, names[3:]...)
}

func TestAfterARollbackTheOldRevisionInUseIsKeptBesideThreeOthers(t *testing.T) {
	f := onTarget(t)
	names := f.reviseTimes("base", 8)
	f.prune("base", f.revise("base", "0"))
	f.wantLeft(names, append([]string{names[0]}, names[5:]...)...)
}

func mounting(pod *corev1.PodSpec, name string) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "v" + fmt.Sprint(len(pod.Volumes)),
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}})
}

func TestARevisionThatAPodTemplateOrAReplicaSetWithPodsNamesIsKept(t *testing.T) {
	f := onTarget(t)
	names := f.reviseTimes("base", 20)

	d := deployment("d")
	mounting(&d.Spec.Template.Spec, names[0])
	f.apply(d)
	c := cronJob("c")
	c.Spec.JobTemplate.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: names[1]}}}}
	f.apply(c)
	j := job("j")
	j.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "registry.example.org/i:1", Env: []corev1.EnvVar{{
		Name: "E", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: names[2]}, Key: "k"}}}}}}
	f.apply(j)
	p := deployment("p")
	p.Spec.Template.Spec.Volumes = append(p.Spec.Template.Spec.Volumes, corev1.Volume{Name: "p", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: names[3]}}}}}}})
	f.apply(p)
	f.replicaSet("with-pods", 1, names[4])
	f.replicaSet("without-pods", 0, names[5])
	f.statusReplicas(f.replicaSet("draining", 0, names[6]), 1)

	f.prune("base", names[19])
	f.wantLeft(names, append(slices.Concat(names[0:5], names[6:7]), names[16:]...)...)
}

func (f *fixture) replicaSet(name string, replicas int32, names string) *appsv1.ReplicaSet {
	f.Helper()
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name}, Spec: appsv1.ReplicaSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector()}, Template: podTemplate("")}}
	mounting(&rs.Spec.Template.Spec, names)
	f.create(rs)
	return rs
}

func (f *fixture) statusReplicas(rs *appsv1.ReplicaSet, replicas int32) {
	f.Helper()
	rs.Status.Replicas = replicas
	if err := f.admin.Status().Update(f.ctx, rs); err != nil {
		f.Fatal(err)
	}
}

func TestADeploymentWithoutItsLabelsStillPinsARevision(t *testing.T) {
	f := onTarget(t)
	names := f.reviseTimes("base", 6)
	d := deployment("d")
	mounting(&d.Spec.Template.Spec, names[0])
	f.apply(d)
	f.edit(d, func(o client.Object) { o.SetLabels(nil) })
	f.prune("base", names[5])
	f.wantLeft(names, append([]string{names[0]}, names[2:]...)...)
}

func TestPruningReadsNothingLiveUnlessThereIsSomethingToPrune(t *testing.T) {
	f := onTarget(t)
	names := f.reviseTimes("base", 4)
	f.target.calls.reset()
	f.prune("base", names[3])
	if calls := f.target.calls.all(); len(calls) != 0 {
		t.Errorf("requests %v", calls)
	}
	f.wantLeft(names, names...)
}

func TestAPinnedRevisionIsNotLookedAtAgainUntilAWorkloadMoves(t *testing.T) {
	f := onTarget(t)
	names := f.reviseTimes("base", 5)
	j := job("j")
	mounting(&j.Spec.Template.Spec, names[0])
	f.apply(j)
	f.prune("base", names[4])
	f.target.calls.reset()
	for range 20 {
		f.prune("base", names[4])
	}
	if calls := f.target.calls.all(); len(calls) != 0 {
		t.Errorf("requests %v", calls)
	}
	if _, err := f.scope.Delete(f.ctx, j, metav1.DeletePropagationBackground); err != nil {
		t.Fatal(err)
	}
	f.awaitCached(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}})
	f.prune("base", names[4])
	f.wantLeft(names, names[1:]...)
}

func TestRevisionsAreFoundByTheirBaseAndNotByAPrefixOfTheName(t *testing.T) {
	f := onTarget(t)
	short, long := f.reviseTimes("x-backend-a", 6), f.reviseTimes("x-backend-a-b", 6)
	f.prune("x-backend-a", short[5])
	f.wantLeft(short, short[2:]...)
	f.wantLeft(long, long...)

	bases, err := f.scope.RevisionBases(f.ctx, &corev1.Secret{})
	if err != nil || !slices.Equal(bases, []string{"x-backend-a", "x-backend-a-b"}) {
		t.Errorf("bases %v, %v", bases, err)
	}
	if err := f.scope.SweepRevisions(f.ctx, &corev1.Secret{}, "x-backend-a"); err != nil {
		t.Fatal(err)
	}
	f.wantLeft(short)
	f.wantLeft(long, long...)
}

func TestASweepOfRevisionsTakesThemWholeAlsoWhatIsStillNamed(t *testing.T) {
	f := onTarget(t)
	names := f.reviseTimes("base", 5)
	d := deployment("d")
	mounting(&d.Spec.Template.Spec, names[4])
	f.apply(d)
	if err := f.scope.SweepRevisions(f.ctx, &corev1.Secret{}, "base"); err != nil {
		t.Fatal(err)
	}
	f.wantLeft(names)
}

func TestWhatNothingProjectsIsSweptOnceNoPodTemplateNamesIt(t *testing.T) {
	f := onTarget(t)
	names := f.reviseTimes("base", 5)
	d := deployment("d")
	mounting(&d.Spec.Template.Spec, names[4])
	f.apply(d)
	sweep := func() {
		t.Helper()
		if err := f.scope.SweepUnnamed(f.ctx, &corev1.Secret{}, "base"); err != nil {
			t.Fatal(err)
		}
	}
	sweep()
	f.wantLeft(names, names[4])
	for _, n := range names {
		f.awaitCached(secret(n))
	}
	sweep()
	f.target.calls.reset()
	for range 20 {
		sweep()
	}
	if calls := f.target.calls.all(); len(calls) != 0 {
		t.Errorf("while nothing changes the requests are %v", calls)
	}

	f.remove(d)
	sweep()
	f.wantLeft(names)
}

func TestTheRevisionsOfAnotherOwnerAreNeitherListedNorPruned(t *testing.T) {
	f := onTarget(t)
	mine := f.reviseTimes("mine", 1)
	first := f.scope
	f.scope = f.scopeOf(f.p, f.target, f.newOwner("other"))
	theirs := f.reviseTimes("theirs", 6)
	f.scope = first
	f.prune("theirs", "")
	if err := f.scope.SweepRevisions(f.ctx, &corev1.Secret{}, "theirs"); err != nil {
		t.Fatal(err)
	}
	f.wantLeft(theirs, theirs...)
	f.wantLeft(mine, mine...)
	bases, err := f.scope.RevisionBases(f.ctx, &corev1.Secret{})
	if err != nil || !slices.Equal(bases, []string{"mine"}) {
		t.Errorf("bases %v, %v", bases, err)
	}
}
