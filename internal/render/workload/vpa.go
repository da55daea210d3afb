// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// vpaKind is written unstructured: its Go types would bring the autoscaler along.
var vpaKind = schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"}

// VPAs renders the VerticalPodAutoscalers of the Deployments that exist beside
// these facts, each under its Deployment's name: API, scheduler, one for each
// projected backend, and backup while a target is projected. A component whose
// block does not ask for one has none.
func VPAs(c *v1alpha1.Cinder, f render.Facts) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	add := func(component v1alpha1.Component, deployment, label, container string) {
		d := c.Spec.DeploymentSpecOf(component)
		if d != nil && d.VerticalAutoscaling != nil {
			out = append(out, vpa(c, d.VerticalAutoscaling, deployment, label, container))
		}
	}
	add(v1alpha1.ComponentAPI, c.Name, render.ComponentAPI, ContainerAPI)
	add(v1alpha1.ComponentScheduler, render.SchedulerName(c.Name), render.ComponentScheduler, ContainerScheduler)
	for _, b := range f.SortedBackends() {
		add(v1alpha1.ComponentVolume, render.VolumeName(c.Name, b.Name), render.VolumeComponent(b.Name), ContainerVolume)
	}
	if f.Backup != nil {
		add(v1alpha1.ComponentBackup, render.BackupName(c.Name), render.ComponentBackup, ContainerBackup)
	}
	return out
}

// vpa bounds the process's own container alone: what others inject into the pod
// is theirs to size.
func vpa(c *v1alpha1.Cinder, spec *v1alpha1.VerticalAutoscalingSpec, deployment, label, container string) *unstructured.Unstructured {
	update := map[string]any{"updateMode": string(spec.UpdateMode)}
	if spec.MinReplicas != nil {
		update["minReplicas"] = int64(*spec.MinReplicas)
	}
	content := map[string]any{
		"targetRef":    map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment},
		"updatePolicy": update,
	}
	policy := map[string]any{"containerName": container}
	for field, amounts := range map[string]corev1.ResourceList{"minAllowed": spec.MinAllowed, "maxAllowed": spec.MaxAllowed} {
		if len(amounts) > 0 {
			policy[field] = quantities(amounts)
		}
	}
	if len(policy) > 1 {
		content["resourcePolicy"] = map[string]any{"containerPolicies": []any{policy}}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	u.SetGroupVersionKind(vpaKind)
	u.SetNamespace(c.Namespace)
	u.SetName(deployment)
	u.SetLabels(render.Labels(c.Name, label))
	return u
}

func quantities(list corev1.ResourceList) map[string]any {
	out := map[string]any{}
	for name, amount := range list {
		out[string(name)] = amount.String()
	}
	return out
}
