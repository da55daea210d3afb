// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// childLists are the built-in kinds that a Cinder's children have, listed here
// once more: the suites check the operator, they do not believe it.
var childLists = []struct {
	name string
	list func() client.ObjectList
}{
	{"Deployment", func() client.ObjectList { return &appsv1.DeploymentList{} }},
	{"Service", func() client.ObjectList { return &corev1.ServiceList{} }},
	{"ConfigMap", func() client.ObjectList { return &corev1.ConfigMapList{} }},
	{"Secret", func() client.ObjectList { return &corev1.SecretList{} }},
	{"Job", func() client.ObjectList { return &batchv1.JobList{} }},
	{"CronJob", func() client.ObjectList { return &batchv1.CronJobList{} }},
	{"PodDisruptionBudget", func() client.ObjectList { return &policyv1.PodDisruptionBudgetList{} }},
	{"HorizontalPodAutoscaler", func() client.ObjectList { return &autoscalingv2.HorizontalPodAutoscalerList{} }},
	{"NetworkPolicy", func() client.ObjectList { return &networkingv1.NetworkPolicyList{} }},
}

// ChildLists are empty lists of the kinds that a Cinder's children have.
func ChildLists() []client.ObjectList {
	var out []client.ObjectList
	for _, kind := range childLists {
		out = append(out, kind.list())
	}
	return out
}

func eachItem(list client.ObjectList, do func(client.Object)) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		obj, ok := o.(client.Object)
		if !ok {
			return fmt.Errorf("%T is no API object", o)
		}
		do(obj)
		return nil
	})
}
