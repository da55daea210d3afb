// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package jobend

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
)

const (
	policyName = "lab-job-ends"
	// probeJob is the name of no Job.
	probeJob = "lab-job-end-probe"
	// paramNamespace holds the decisions.
	paramNamespace = metav1.NamespaceSystem
	paramLabel     = "lab/job-end"
	// jobLabel names a pod's Job; the Job controller sets it.
	jobLabel = "batch.kubernetes.io/job-name"

	// annotationID tells which decision a pod carries, and weight how specific that one was.
	annotationID     = "fake/job-end"
	annotationWeight = "fake/job-end-weight"
	annotationHold   = "fake/run-forever"
	annotationCode   = "fake/exit-code"
	annotationText   = "fake/message"
)

// The keys of a decision's ConfigMap.
const (
	keyID        = "id"
	keyWeight    = "weight"
	keyNamespace = "namespace"
	keyPattern   = "pattern"
	keyExpr      = "expression"
	keyExitCode  = "exitCode"
	keyMessage   = "message"
	keyHold      = "hold"
)

// applies is true for a pod whose Job a decision names, unless an earlier invocation of the policy applied a more
// specific one: the policy runs once for each ConfigMap, in no particular order. The values need string() around
// them: to the compiler they have no type.
const applies = `(params.data.namespace == '' || params.data.namespace == request.namespace) &&
object.metadata.labels['` + jobLabel + `'].matches(string(params.data.expression)) &&
(!has(object.metadata.annotations) || !('` + annotationWeight + `' in object.metadata.annotations) ||
int(object.metadata.annotations['` + annotationWeight + `']) <= int(string(params.data.weight)))`

const mutation = `variables.applies ? Object{metadata: Object.metadata{annotations: {
'` + annotationID + `': string(params.data.id),
'` + annotationWeight + `': string(params.data.weight),
'` + annotationCode + `': string(params.data.exitCode),
'` + annotationText + `': string(params.data.message),
'` + annotationHold + `': string(params.data.hold)
}}} : Object{}`

// Install creates the policy and returns when the API server applies it.
func Install(ctx context.Context, kubeconfig string) error {
	client, err := kubeclient.Typed(kubeconfig)
	if err != nil {
		return err
	}
	admission := client.AdmissionregistrationV1()
	if _, err := admission.MutatingAdmissionPolicies().Create(ctx, policy(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create MutatingAdmissionPolicy %s: %w", policyName, err)
	}
	if _, err := admission.MutatingAdmissionPolicyBindings().Create(ctx, binding(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create MutatingAdmissionPolicyBinding %s: %w", policyName, err)
	}
	// A decision for a Job that never exists shows whether decisions have an effect. It stays, harmless.
	return set(ctx, client, End{Job: probeJob})
}

func policy() *admissionv1.MutatingAdmissionPolicy {
	fail := admissionv1.Fail
	return &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			ParamKind: &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}},
			MatchConditions: []admissionv1.MatchCondition{{
				Name:       "of-a-job",
				Expression: "has(object.metadata.labels) && '" + jobLabel + "' in object.metadata.labels",
			}},
			Variables: []admissionv1.Variable{{Name: "applies", Expression: applies}},
			Mutations: []admissionv1.Mutation{{
				PatchType:          admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: mutation},
			}},
			FailurePolicy:      &fail,
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		},
	}
}

func binding() *admissionv1.MutatingAdmissionPolicyBinding {
	allow := admissionv1.AllowAction
	return &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: policyName,
			ParamRef: &admissionv1.ParamRef{
				Namespace:               paramNamespace,
				Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{paramLabel: "true"}},
				ParameterNotFoundAction: &allow,
			},
		},
	}
}

// dryRun asks what a pod of a Job would carry, without creating it.
func dryRun(ctx context.Context, client kubernetes.Interface, namespace, job string) (*corev1.Pod, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "lab-probe-", Namespace: namespace, Labels: map[string]string{jobLabel: job}},
		// Restricted, so that no Pod Security level refuses the probe.
		Spec: restricted(),
	}
	return client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

func restricted() corev1.PodSpec {
	yes, no := true, false
	return corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		AutomountServiceAccountToken: &no,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   &yes,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name:  "probe",
			Image: "registry.example.org/none",
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no,
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}
