// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"context"
	"errors"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var apiCases = []testCase{
	{"health", plain, (*fixture).health},
	{"odd-cluster", odd, (*fixture).oddCluster},
}

// nobody is an address at which no pod runs.
const nobody = "192.0.2.7"

// health is asked of an API without endpoints, with one where nobody is, and
// with pods that answer in every way.
func (f *fixture) health() {
	typ := v1alpha1.ConditionCinderAPIReady
	f.answers("503")
	binding := f.onlyNobody()
	f.cluster.Create(f, f.endpoints(""))
	f.create()
	f.says(not(typ, v1alpha1.ReasonEndpointNotReady))
	f.endpointOfNobody()
	f.poke()
	f.says(not(typ, v1alpha1.ReasonConnectionFailed))
	f.cluster.Delete(f, binding)
	harness.Eventually(f, harness.ReadyTimeout, "the pods' endpoints", func(ctx context.Context) error {
		live := f.endpoints("")
		if err := f.cluster.Client.Get(ctx, client.ObjectKeyFromObject(live), live); client.IgnoreNotFound(err) != nil {
			return err
		}
		if len(live.Subsets) > 0 && len(live.Subsets[0].Addresses) > 0 && live.Subsets[0].Addresses[0].IP != nobody {
			return nil
		}
		// Its controller writes it anew when it goes.
		if err := f.cluster.Client.Delete(ctx, live); client.IgnoreNotFound(err) != nil {
			return err
		}
		return errors.New("not written yet")
	})
	f.poke()
	f.says(not(typ, v1alpha1.ReasonAPIUnhealthy))
	f.answers("silent")
	f.poke()
	f.says(not(typ, v1alpha1.ReasonHealthCheckTimeout))
	f.answers("ok")
	f.poke()
	f.says(is(typ, v1alpha1.ReasonAPIHealthy))
}

// endpointOfNobody leads to a pod that has ended: the API server believes in its
// address, and nothing is there any more.
func (f *fixture) endpointOfNobody() {
	f.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: "nobody"},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "nobody", Image: "registry.example.org/nobody:1"}}},
	}
	f.cluster.Create(f, pod)
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodSucceeded, nobody, []corev1.PodIP{{IP: nobody}}
	if err := f.cluster.Client.Status().Update(f.Context(), pod); err != nil {
		f.Fatal(err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"subsets":[{
		"addresses":[{"ip":"`+nobody+`","targetRef":{"kind":"Pod","namespace":"`+f.ns+`","name":"nobody"}}],
		"ports":[{"name":"api","port":8776}]}]}`))
	if err := f.cluster.Client.Patch(f.Context(), f.endpoints(""), patch); err != nil {
		f.Fatal(err)
	}
}

// answers says how the API's pods answer.
func (f *fixture) answers(how string) {
	f.Helper()
	lab.Run(f, "health", f.target, "--namespace", f.ns, "--pods", "app.kubernetes.io/component=api", how)
}

func (f *fixture) endpoints(ip string) *corev1.Endpoints { //nolint:staticcheck // the API server's proxy reads this kind
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: "cinder"}} //nolint:staticcheck // as above
	if ip != "" {
		e.Subsets = []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: ip}}}} //nolint:staticcheck // as above
	}
	return e
}

// onlyNobody lets the namespace have endpoints where nobody is, and no others.
func (f *fixture) onlyNobody() client.Object {
	f.Helper()
	name := f.ns + ".example.org"
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.ns}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"endpoints"}},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: `!has(object.subsets) || object.subsets.all(s, !has(s.addresses) || s.addresses.all(a, a.ip == "` + nobody + `"))`,
				Message:    "nobody alone",
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	f.cluster.Create(f, policy)
	f.cluster.Create(f, binding)
	harness.Eventually(f, harness.ReadyTimeout, "the policy is in force", func(ctx context.Context) error {
		err := f.cluster.Client.Create(ctx, f.endpoints("192.0.2.8"), client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), "nobody alone") {
			return nil
		}
		return errors.Join(errors.New("it admits everything"), err)
	})
	return binding
}

// oddCluster does not say what it serves, and refuses the health probe.
func (f *fixture) oddCluster() {
	f.create()
	f.says(
		not(v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonCapabilityProbeFailed), not(v1alpha1.ConditionVPAReady, v1alpha1.ReasonCapabilityProbeFailed),
		not(v1alpha1.ConditionCinderAPIReady, v1alpha1.ReasonHealthCheckFailed),
	)
	f.reaches(mirror(odd), append(rows(targetCluster, v1alpha1.ConditionPermitted, metav1.ConditionFalse, v1alpha1.ReasonPermissionsMissing),
		rows(targetCluster, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady)...)...)
}
