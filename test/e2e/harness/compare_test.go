// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// The suites that kill the operator or a target believe what is compared here.

// heard is a test that keeps its complaints.
type heard struct {
	testing.TB
	said []string
}

func (h *heard) Helper() {}

func (h *heard) Errorf(format string, args ...any) {
	h.said = append(h.said, fmt.Sprintf(format, args...))
}

func TestPicturesDifferByWhatIsMissingTooMuchOrOther(t *testing.T) {
	want := map[string]string{"Deployment/cinder": "a", "Service/cinder": "b"}
	for _, tc := range []struct {
		now   map[string]string
		fault string
	}{
		{map[string]string{"Deployment/cinder": "a", "Service/cinder": "b"}, ""},
		{map[string]string{"Deployment/cinder": "a"}, "Service/cinder is missing"},
		{map[string]string{"Deployment/cinder": "a", "Service/cinder": "b", "Job/x": "c"}, "Job/x is too much"},
		{map[string]string{"Deployment/cinder": "a", "Service/cinder": "c"}, "Service/cinder is\nc\nwant\nb"},
		{nil, "is missing"},
	} {
		err := Differ(tc.now, want)
		if (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%v differs by %v, want %q", tc.now, err, tc.fault)
		}
	}
}

func TestTheEssenceOfAChildIsWhatTheOperatorWrote(t *testing.T) {
	deployment := func(change func(*appsv1.Deployment)) client.Object {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Name: "cinder", UID: "1", ResourceVersion: "7", Generation: 3,
			Labels:          map[string]string{"app.kubernetes.io/name": "cinder"},
			Annotations:     map[string]string{"deployment.kubernetes.io/revision": "1"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Cinder", Name: "cinder", UID: "owner"}},
		}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "api", Image: "registry.example.org/cinder:2026.1"}}
		change(d)
		return d
	}
	job := func(uid string) client.Object {
		labels := map[string]string{"batch.kubernetes.io/controller-uid": uid, "job-name": "sync"}
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "sync", Labels: labels}}
		j.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		j.Spec.Template.Labels = labels
		return j
	}
	plain := deployment(func(*appsv1.Deployment) {})
	for name, tc := range map[string]struct {
		a, b client.Object
		same bool
	}{
		"what the server fills in": {plain, deployment(func(d *appsv1.Deployment) {
			d.UID, d.ResourceVersion, d.Generation, d.CreationTimestamp = "2", "9", 8, metav1.Now()
			d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
			d.Annotations["deployment.kubernetes.io/revision"] = "4"
			d.Status.Replicas = 3
		}), true},
		"an owner of another life":   {plain, deployment(func(d *appsv1.Deployment) { d.OwnerReferences[0].UID = "other" }), true},
		"no owner":                   {plain, deployment(func(d *appsv1.Deployment) { d.OwnerReferences = nil }), false},
		"a label":                    {plain, deployment(func(d *appsv1.Deployment) { d.Labels["x"] = "y" }), false},
		"an annotation of ours":      {plain, deployment(func(d *appsv1.Deployment) { d.Annotations["x"] = "y" }), false},
		"an image":                   {plain, deployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other" }), false},
		"the same Job, made again":   {job("1"), job("2"), true},
		"a Service on another port":  {&corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "192.0.2.1"}}, &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "192.0.2.2", Ports: []corev1.ServicePort{{Port: 1}}}}, false},
		"a Service with another IP":  {&corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "192.0.2.1"}}, &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "192.0.2.2"}}, true},
		"a Secret of another secret": {&corev1.Secret{Data: map[string][]byte{"k": []byte("a")}}, &corev1.Secret{Data: map[string][]byte{"k": []byte("b")}}, false},
	} {
		a, errA := essence(tc.a)
		b, errB := essence(tc.b)
		if errA != nil || errB != nil || (a == b) != tc.same {
			t.Errorf("%s: same is %t (%v, %v)\n%s\n%s", name, a == b, errA, errB, a, b)
		}
	}
}

func TestAStatusIsComparedWithoutItsTimes(t *testing.T) {
	cinder := func(reason string, at metav1.Time) string {
		t.Helper()
		c := &v1alpha1.Cinder{}
		c.Status.InstalledRelease = "2026.1"
		c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: at}}
		text, err := StatusOf(c)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	early, late := metav1.Unix(1, 0), metav1.Unix(2, 0)
	if a, b := cinder("AllReady", early), cinder("AllReady", late); a != b || !strings.Contains(a, "AllReady") || !strings.Contains(a, "2026.1") {
		t.Errorf("%s\n%s", a, b)
	}
	if a, b := cinder("AllReady", early), cinder("Other", early); a == b {
		t.Errorf("two reasons are one: %s", a)
	}
}

func TestALifeWithKillsMayDoNothingTwice(t *testing.T) {
	life := func(change func(*Trace)) Trace {
		tr := Trace{
			Made:    map[string]int{"edge-1 jobs ns/cinder-db-sync": 1, "edge-1 deployments ns/cinder": 1},
			Touched: map[string][]string{"edge-1 jobs ns/cinder-db-sync": {"create"}, "edge-1 deployments ns/cinder": {"patch"}},
			Told:    map[string]int{"Cinder cinder DatabaseSynced: done": 1},
		}
		change(&tr)
		return tr
	}
	want := life(func(*Trace) {})
	for name, tc := range map[string]struct {
		change func(*Trace)
		fault  string
	}{
		"the same":             {func(*Trace) {}, ""},
		"a write more":         {func(tr *Trace) { tr.Touched["edge-1 deployments ns/cinder"] = []string{"patch", "patch"} }, ""},
		"an event lost":        {func(tr *Trace) { tr.Told = nil }, ""},
		"a Job twice":          {func(tr *Trace) { tr.Made["edge-1 jobs ns/cinder-db-sync"] = 2 }, "cinder-db-sync was made 2 times, without kills 1"},
		"a Job never":          {func(tr *Trace) { delete(tr.Made, "edge-1 jobs ns/cinder-db-sync") }, "cinder-db-sync was made 0 times"},
		"a Deployment twice":   {func(tr *Trace) { tr.Made["edge-1 deployments ns/cinder"] = 2 }, "deployments ns/cinder was made 2 times"},
		"a foreign object":     {func(tr *Trace) { tr.Touched["edge-1 secrets ns/foreign"] = []string{"delete"} }, "ns/foreign was written"},
		"the mirror":           {func(tr *Trace) { tr.Touched["hub targetclusters c5c3-clusters/edge-1"] = []string{"update"} }, ""},
		"an event twice":       {func(tr *Trace) { tr.Told["Cinder cinder DatabaseSynced: done"] = 2 }, "told 2 times, without kills 1"},
		"another event, twice": {func(tr *Trace) { tr.Told["Cinder cinder DBSyncFailed: x"] = 2 }, "told 2 times, without kills 0"},
	} {
		h := &heard{TB: t}
		life(tc.change).Check(h, want)
		if (len(h.said) == 0) != (tc.fault == "") || tc.fault != "" && !strings.Contains(strings.Join(h.said, "\n"), tc.fault) {
			t.Errorf("%s: said %q, want %q", name, h.said, tc.fault)
		}
	}
}
