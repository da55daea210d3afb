// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

func TestAnOwnerThatNoLabelCanNameIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	p := projection.New(projection.Options{Scheme: scheme, HubUID: hubA})
	owner := func(namespace, name, uid string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
	}
	for name, c := range map[string]struct {
		owner *corev1.ConfigMap
		want  string
	}{
		"64 characters": {owner("ns", strings.Repeat("x", 64), "u"), "63"},
		"63 characters": {owner("ns", strings.Repeat("x", 63), "u"), ""},
		"no UID":        {owner("ns", "x", ""), "UID"},
		"no namespace":  {owner("", "x", "u"), "namespace"},
	} {
		_, err := p.Scope(&testTarget{name: edge}, c.owner)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if _, err := projection.New(projection.Options{Scheme: scheme}).Scope(&testTarget{}, owner("ns", "x", "u")); err == nil {
		t.Error("a projector without a hub made a scope")
	}
}

func TestAChildOutsideItsOwnersNamespaceIsRefused(t *testing.T) {
	f := onTarget(t)
	child := secret("child")
	child.Namespace = "default"
	if _, err := projection.Apply(f.ctx, f.scope, child); err == nil || !strings.Contains(err.Error(), "default") {
		t.Errorf("got %v", err)
	}
}

func TestTheJobTemplateOfACronJobCarriesItsLabels(t *testing.T) {
	f := onTarget(t)
	intent := cronJob("child")
	intent.Spec.JobTemplate.Labels = map[string]string{"app.kubernetes.io/name": "its own"}
	f.apply(intent)
	live := f.live(intent).(*batchv1.CronJob)
	for k, v := range f.ownershipLabels() {
		if live.Spec.JobTemplate.Labels[k] != v {
			t.Errorf("label %s of the job template is %q", k, live.Spec.JobTemplate.Labels[k])
		}
	}
	if got := live.Spec.JobTemplate.Labels; got["app.kubernetes.io/instance"] != "cinder" || got["app.kubernetes.io/name"] != "its own" {
		t.Errorf("labels of the job template: %v", got)
	}
	if got := live.Spec.JobTemplate.Spec.Template.Labels; len(got) != len(selector()) {
		t.Errorf("labels of the pod template: %v", got)
	}
}

func TestAKeyThatLeavesAStringDataSecretIsTakenAway(t *testing.T) {
	f := onTarget(t)
	f.apply(&corev1.Secret{ObjectMeta: sampleMeta("child"), StringData: map[string]string{"a": "1", "b": "2"}})
	f.apply(&corev1.Secret{ObjectMeta: sampleMeta("child"), StringData: map[string]string{"a": "1"}})
	if got := data(f.live(secret("child"))); len(got) != 1 || got["a"] != "1" {
		t.Errorf("data %v", got)
	}
}

func TestAKindThatNobodyWatchesIsReadLive(t *testing.T) {
	f := onTarget(t)
	account := &corev1.ServiceAccount{ObjectMeta: sampleMeta("child")}
	for range 2 {
		if _, err := projection.Apply(f.ctx, f.scope, account); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.target.calls.of("PATCH"); got != 1 {
		t.Errorf("%d writes, want 1", got)
	}
	if err := f.scope.Get(f.ctx, "child", &corev1.ServiceAccount{}); err != nil {
		t.Error(err)
	}
	list := &corev1.ServiceAccountList{}
	if err := f.scope.List(f.ctx, list, nil); err != nil || len(list.Items) != 1 {
		t.Errorf("list %v, %v", list.Items, err)
	}
}

func TestAnotherClusterBehindAKnownNameIsAppliedAnew(t *testing.T) {
	f := onTarget(t)
	f.apply(secret("child"))
	f.target.calls.reset()
	other := *f.target
	other.uid = "another-cluster"
	if _, err := projection.Apply(f.ctx, f.scopeOf(f.p, &other, f.owner), secret("child")); err != nil {
		t.Fatal(err)
	}
	if got := f.target.calls.of("PATCH"); got != 1 {
		t.Errorf("%d applies, want 1", got)
	}
}

func TestWhatWasAppliedForAForgottenOwnerIsAppliedOnceMore(t *testing.T) {
	f := onTarget(t)
	f.apply(secret("child"))
	f.target.calls.reset()
	f.p.Forget(types.UID("another"))
	f.apply(secret("child"))
	if got := f.target.calls.of("PATCH"); got != 0 {
		t.Errorf("%d applies after another owner was forgotten", got)
	}
	f.p.Forget(f.owner.UID)
	f.apply(secret("child"))
	if got := f.target.calls.of("PATCH"); got != 1 {
		t.Errorf("%d applies after the owner was forgotten, want 1", got)
	}
}

func TestWritesAreCountedByClusterKindAndOperationAndNothingElseIs(t *testing.T) {
	f := onTarget(t)
	reg := prometheus.NewRegistry()
	p := projection.New(projection.Options{Scheme: scheme, HubUID: hubA, Metrics: reg})
	f.scope = f.scopeOf(p, f.target, f.owner)

	f.apply(secret("child"))
	f.apply(secret("child"))
	changed := secret("child")
	changed.Data["key"] = []byte("new")
	f.apply(changed)
	f.create(f.predecessor(configMap("child")))
	f.apply(configMap("child"))
	// A new process applies once more and changes nothing.
	again := f.scopeOf(projection.New(projection.Options{Scheme: scheme, HubUID: hubA, Metrics: reg}), f.target, f.owner)
	if _, err := projection.Apply(f.ctx, again, changed); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.scope.Delete(f.ctx, secret("child"), metav1.DeletePropagationBackground); err != nil {
			t.Fatal(err)
		}
	}
	want := `
# HELP cinder_operator_projected_writes_total Writes of child objects, by the cluster they live on (empty: the hub), kind and operation (create, update, adopt, delete).
# TYPE cinder_operator_projected_writes_total counter
cinder_operator_projected_writes_total{cluster="edge-1",kind="ConfigMap",operation="adopt"} 1
cinder_operator_projected_writes_total{cluster="edge-1",kind="ConfigMap",operation="update"} 1
cinder_operator_projected_writes_total{cluster="edge-1",kind="Secret",operation="create"} 1
cinder_operator_projected_writes_total{cluster="edge-1",kind="Secret",operation="delete"} 1
cinder_operator_projected_writes_total{cluster="edge-1",kind="Secret",operation="update"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	p.ForgetCluster(edge)
	if n, err := testutil.GatherAndCount(reg); err != nil || n != 0 {
		t.Errorf("%d series of a forgotten cluster are left, %v", n, err)
	}
}

func TestKindsAreThoseOfTheContractAndOptionalWhereTheyAreNotKubernetesOwn(t *testing.T) {
	optional := map[string]bool{
		"Deployment": false, "Service": false, "ConfigMap": false, "Secret": false, "Job": false, "CronJob": false,
		"PodDisruptionBudget": false, "HorizontalPodAutoscaler": false, "NetworkPolicy": false,
		"HTTPRoute": true, "VerticalPodAutoscaler": true, "Database": true, "User": true, "Grant": true,
	}
	kinds := projection.Kinds()
	if len(kinds) != len(optional) {
		t.Errorf("%d kinds, want %d", len(kinds), len(optional))
	}
	for _, k := range kinds {
		gvk, err := kindOf(k)
		if err != nil {
			t.Fatal(err)
		}
		if want, known := optional[gvk]; !known || want != k.Optional {
			t.Errorf("%s: optional %v, known %v", gvk, k.Optional, known)
		}
	}
}

func kindOf(k clusters.ChildKind) (string, error) {
	c, err := client.New(apiServer, client.Options{Scheme: scheme})
	if err != nil {
		return "", err
	}
	gvk, err := c.GroupVersionKindFor(k.Object)
	return gvk.Kind, err
}

func TestTheFieldManagerFitsItsLimitWithTheLongestIdentity(t *testing.T) {
	if n := len(projection.FieldManager(strings.Repeat("x", 63))); n > 128 {
		t.Errorf("%d bytes, the API admits 128", n)
	}
}
