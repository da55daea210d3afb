// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Dump is what a Cinder's children on the cluster say, by "Kind/name": without
// their status and without what API servers and controllers fill in, so that two
// runs can be compared.
func (c *Cluster) Dump(ctx context.Context, owner *v1alpha1.Cinder) (map[string]string, error) {
	out := map[string]string{}
	for _, kind := range childLists {
		list := kind.list()
		if err := c.Client.List(ctx, list, client.InNamespace(owner.Namespace), ownedBy(owner)); err != nil {
			return nil, fmt.Errorf("list %s on %s: %w", kind.name, c.Name, err)
		}
		var failed error
		if err := eachItem(list, func(o client.Object) {
			text, err := essence(o)
			if err != nil {
				failed = err
			}
			out[kind.name+"/"+o.GetName()] = text
		}); err != nil {
			return nil, err
		}
		if failed != nil {
			return nil, failed
		}
	}
	return out, nil
}

func essence(o client.Object) (string, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return "", fmt.Errorf("convert %T %s: %w", o, o.GetName(), err)
	}
	delete(u, "status")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(u, "metadata", field)
	}
	unstructured.RemoveNestedField(u, "metadata", "annotations", "deployment.kubernetes.io/revision")
	owners, _, err := unstructured.NestedSlice(u, "metadata", "ownerReferences")
	if err != nil {
		return "", fmt.Errorf("owners of %T %s: %w", o, o.GetName(), err)
	}
	if len(owners) > 0 {
		for _, owner := range owners {
			if owner, ok := owner.(map[string]any); ok {
				delete(owner, "uid")
			}
		}
		if err := unstructured.SetNestedSlice(u, owners, "metadata", "ownerReferences"); err != nil {
			return "", fmt.Errorf("owners of %T %s: %w", o, o.GetName(), err)
		}
	}
	for _, field := range []string{"clusterIP", "clusterIPs"} {
		unstructured.RemoveNestedField(u, "spec", field)
	}
	for _, label := range []string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
		unstructured.RemoveNestedField(u, "metadata", "labels", label)
		unstructured.RemoveNestedField(u, "spec", "selector", "matchLabels", label)
		unstructured.RemoveNestedField(u, "spec", "template", "metadata", "labels", label)
	}
	b, err := json.Marshal(u)
	return string(b), err
}

// StatusOf is the status of a resource of the group as JSON, without times.
func StatusOf(obj client.Object) (string, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return "", fmt.Errorf("convert %T %s: %w", obj, obj.GetName(), err)
	}
	conditions, _, err := unstructured.NestedSlice(u, "status", "conditions")
	if err != nil {
		return "", err
	}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok {
			delete(c, "lastTransitionTime")
		}
	}
	status, _, err := unstructured.NestedMap(u, "status")
	if err != nil {
		return "", err
	}
	if status != nil {
		status["conditions"] = conditions
	}
	b, err := json.Marshal(status)
	return string(b), err
}
