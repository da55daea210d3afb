// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

const (
	storeVersion   = "external-secrets.io/v1"
	mariaDBVersion = "k8s.mariadb.com/v1alpha1"
	routeVersion   = "gateway.networking.k8s.io/v1"
	vpaVersion     = "autoscaling.k8s.io/v1"
)

var fakeStore = map[string]any{"spec": map[string]any{"provider": map[string]any{"fake": map[string]any{"data": []any{}}}}}

// prepareCollaborators gives the hub the kinds of all collaborators, and the
// secret store that Cinders take when they name none.
func prepareCollaborators(t *testing.T) {
	t.Helper()
	lab.Run(t, "crds", harness.HubName, "external-secrets", "gateway-api", "mariadb-operator", "rabbitmq", "vpa")
	store := unstructuredOf("ClusterSecretStore", storeVersion, "", v1alpha1.DefaultSecretStoreName)
	store.Object["spec"] = fakeStore["spec"]
	harness.Eventually(t, harness.ReadyTimeout, "the hub serves secret stores", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(lab.Hub.Client.Create(ctx, store))
	})
	sayReady(t, lab.Hub, store, "True")
	// No API server publishes an address of the machine that it shares with its
	// clients; network policies ask for the addresses.
	lab.Hub.Create(t, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes"},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
	})
}

// sayReady plays the collaborator whose object it is.
func sayReady(t testing.TB, c *harness.Cluster, obj *unstructured.Unstructured, status string) {
	t.Helper()
	setStatus(t, c, obj, map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": status, "reason": "Played", "message": "played", "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}}})
}

// setStatus waits for a collaborator's object and gives it a status.
func setStatus(t testing.TB, c *harness.Cluster, obj *unstructured.Unstructured, status map[string]any) {
	t.Helper()
	harness.Eventually(t, harness.ReadyTimeout, fmt.Sprintf("the status of %s %s", obj.GetKind(), obj.GetName()), func(ctx context.Context) error {
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		obj.Object["status"] = status
		return c.Client.Status().Update(ctx, obj)
	})
}

// prepareOdd announces two groups on a target whose servers are not there, as an
// extension's API does while its pods are down, and takes the right from its
// account to reach Services.
func prepareOdd(t *testing.T) {
	t.Helper()
	c := lab.Targets[odd]
	for group, version := range map[string]string{"gateway.networking.k8s.io": "v1", "autoscaling.k8s.io": "v1"} {
		u := unstructuredOf("APIService", "apiregistration.k8s.io/v1", "", version+"."+group)
		u.Object["spec"] = map[string]any{
			"group": group, "version": version, "groupPriorityMinimum": int64(1000), "versionPriority": int64(10), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": harness.SystemNamespace, "name": "nowhere"},
		}
		c.Create(t, u)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cinder-operator-children"}}
	harness.Change(t, c, role, func(r *rbacv1.ClusterRole) {
		r.Rules = slices.DeleteFunc(r.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "services/proxy") })
	})
}
