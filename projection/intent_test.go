// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestPayloadHoldsWhatWasSetAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		name string
		in   client.Object
		want string
	}{
		{
			name: "a Deployment has no status, no null timestamps, no empty strategy or resources",
			in: &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: "7"},
				Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "c"}},
				}}},
				Status: appsv1.DeploymentStatus{Replicas: 3},
			},
			want: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}}`,
		},
		{
			name: "an emptyDir and an empty pointer selector are meant and stay",
			in: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{},
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{
					Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
				}}}},
			}},
			want: `{"spec":{"selector":{},"template":{"spec":{"volumes":[{"emptyDir":{},"name":"tmp"}]}}}}`,
		},
		{
			name: "a NetworkPolicy keeps the rule that admits all",
			in: &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{
				Ingress: []networkingv1.NetworkPolicyIngressRule{{}},
			}},
			want: `{"spec":{"ingress":[{}]}}`,
		},
		{
			name: "a Service port without a targetPort claims none",
			in:   &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8776}}}},
			want: `{"spec":{"ports":[{"port":8776}]}}`,
		},
		{
			name: "a Service port keeps a targetPort",
			in: &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
				{Port: 8776, TargetPort: intstr.FromString("api")},
			}}},
			want: `{"spec":{"ports":[{"port":8776,"targetPort":"api"}]}}`,
		},
		{
			name: "stringData is sent as data, over data of the same key",
			in: &corev1.Secret{
				Data:       map[string][]byte{"a": []byte("old"), "b": []byte("2")},
				StringData: map[string]string{"a": "1"},
			},
			want: `{"data":{"a":"MQ==","b":"Mg=="}}`,
		},
		{
			name: "an unstructured object loses status and nulls",
			in: &unstructured.Unstructured{Object: map[string]any{
				"spec": map[string]any{"a": nil, "b": map[string]any{}, "c": []any{map[string]any{"d": nil}}}, "status": map[string]any{"x": "y"},
			}},
			want: `{"spec":{"b":{},"c":[{}]}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.in.DeepCopyObject()
			got, err := payloadOf(c.in)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			delete(want, "apiVersion")
			delete(want, "kind")
			data, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var have map[string]any
			if err := json.Unmarshal(data, &have); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("payload (-want +got):\n%s", diff)
			}
			if !reflect.DeepEqual(before, c.in.DeepCopyObject()) {
				t.Error("the caller's object was changed")
			}
		})
	}
}

func TestABaseNameThatIsNoLabelValueIsReplacedByItsDigest(t *testing.T) {
	long := "a-base-name-that-is-longer-than-the-sixty-three-characters-of-a-label"
	if got := baseLabel("cinder-config"); got != "cinder-config" {
		t.Errorf("short base became %q", got)
	}
	got, other := baseLabel(long), baseLabel(long+"x")
	if len(got) > maxLabelValue || got == other {
		t.Errorf("labels %q and %q", got, other)
	}
}
