// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"c5c3.io/cinder-operator/clusters"
)

// The kinds that have no Go type here and are written unstructured.
var (
	// VerticalPodAutoscaler is the kind of the autoscaler's API.
	VerticalPodAutoscaler = schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"}
	// MariaDBDatabase, MariaDBUser and MariaDBGrant are mariadb-operator's.
	MariaDBDatabase = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "Database"}
	MariaDBUser     = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "User"}
	MariaDBGrant    = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "Grant"}
)

// Kinds lists every kind of child, in the order in which a sweep deletes them:
// what acts on others goes before what it acts on. The result is the caller's.
func Kinds() []clusters.ChildKind {
	return []clusters.ChildKind{
		{Object: unstructuredKind(MariaDBGrant), Optional: true},
		{Object: unstructuredKind(MariaDBUser), Optional: true},
		{Object: unstructuredKind(MariaDBDatabase), Optional: true},
		{Object: &gatewayv1.HTTPRoute{}, Optional: true},
		{Object: unstructuredKind(VerticalPodAutoscaler), Optional: true},
		// The API server counts no generation for a HorizontalPodAutoscaler.
		{Object: &autoscalingv2.HorizontalPodAutoscaler{}, KeepResourceVersionKey: true},
		{Object: &policyv1.PodDisruptionBudget{}},
		{Object: &batchv1.CronJob{}},
		{Object: &batchv1.Job{}},
		{Object: &appsv1.Deployment{}},
		{Object: &corev1.Service{}, KeepResourceVersionKey: true},
		{Object: &networkingv1.NetworkPolicy{}},
		{Object: &corev1.ConfigMap{}, KeepResourceVersionKey: true},
		{Object: &corev1.Secret{}, KeepResourceVersionKey: true},
	}
}

func unstructuredKind(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}
