// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

// keepEverything makes a cluster refuse every delete in a namespace, and waits
// until it does.
func keepEverything(t *testing.T, c *harness.Cluster, namespace string) (client.Object, client.Object) {
	t.Helper()
	name := "keep-" + namespace
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Delete},
					Rule:       admissionv1.Rule{APIGroups: []string{"", "apps", "batch", "policy"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "nothing goes"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	c.Create(t, policy)
	c.Create(t, binding)
	canary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "canary", Namespace: namespace}}
	c.Create(t, canary)
	harness.Eventually(t, 30*time.Second, "deletes are refused", func(ctx context.Context) error {
		err := c.Client.Delete(ctx, canary, client.DryRunAll)
		if err == nil {
			return errors.New("a delete is admitted")
		}
		if !strings.Contains(err.Error(), "nothing goes") {
			return err
		}
		return nil
	})
	return policy, binding
}
