// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

// The kinds that Cinders name, and that other operators serve.
var (
	mariaDBKind  = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MariaDB"}
	rabbitMQKind = schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"}

	// externalSecrets is the API that secret stores are served by.
	externalSecrets        = schema.GroupVersion{Group: "external-secrets.io", Version: "v1"}
	externalSecretKind     = externalSecrets.WithKind("ExternalSecret")
	secretStoreKind        = externalSecrets.WithKind(string(v1alpha1.SecretStoreKindNamespaced))
	clusterSecretStoreKind = externalSecrets.WithKind(string(v1alpha1.SecretStoreKindCluster))
)

// References lists the kinds that a Cinder may name and whose status the
// reconciler follows; they are what clusters.Options.References has to carry. An
// operator that serves one namespace alone reads nothing without a namespace.
// The result is the caller's.
func References(namespace string) []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{mariaDBKind, rabbitMQKind, externalSecretKind, secretStoreKind}
	if namespace == "" {
		kinds = append(kinds, clusterSecretStoreKind)
	}
	return kinds
}

// reference reads an object that the Cinder names on the children's cluster. The
// message says why there is none to look at: the object is then nil.
func reference(ctx context.Context, p *Pass, gvk schema.GroupVersionKind, key types.NamespacedName) (obj *unstructured.Unstructured, message string, err error) {
	served, err := p.Target.Serves(gvk)
	if err != nil {
		return nil, "", fmt.Errorf("ask whether %s serves %s: %w", p.Target, gvk.Kind, err)
	}
	named := gvk.Kind + " " + strings.TrimPrefix(key.String(), "/")
	if !served {
		return nil, fmt.Sprintf("%s cannot be read: %s does not serve %s", named, p.Target, gvk.GroupVersion()), nil
	}
	obj, err = clusters.Reference(ctx, p.Target, gvk, key)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("%s does not exist on %s", named, p.Target), nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("reading %s on %s is forbidden to the operator's account", named, p.Target), nil
	case err != nil:
		return nil, "", err
	}
	return obj, "", nil
}

// readiness reads the Ready condition that other operators report. The text says
// what it is when it is not True.
func readiness(obj *unstructured.Unstructured) (ready bool, text string) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || condition["type"] != "Ready" {
			continue
		}
		if condition["status"] == "True" {
			return true, ""
		}
		text := fmt.Sprintf("its condition Ready is %v", condition["status"])
		for _, field := range []string{"reason", "message"} {
			if value, _ := condition[field].(string); value != "" {
				text += ": " + value
			}
		}
		return false, text
	}
	return false, "it reports no condition Ready yet"
}

// names tells whether a Cinder names an object of a kind that it follows.
func names(cr *v1alpha1.Cinder, gvk schema.GroupVersionKind, name string) bool {
	spec := &cr.Spec
	switch gvk {
	case mariaDBKind:
		return spec.Database.ClusterRef != nil && spec.Database.ClusterRef.Name == name
	case rabbitMQKind:
		return spec.Messaging.ClusterRef != nil && spec.Messaging.ClusterRef.Name == name
	case externalSecretKind:
		for _, secret := range secretsOfCinder(cr) {
			if secret == name {
				return true
			}
		}
		return false
	case secretStoreKind, clusterSecretStoreKind:
		store, _ := spec.EffectiveSecretStore()
		return string(store.Kind) == gvk.Kind && store.Name == name
	}
	return false
}
