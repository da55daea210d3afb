// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

func TestAnRBDBackupTargetIsGatedProjectedAndRotated(t *testing.T) {
	edge := lab.Targets["edge-1"]
	namespace := lab.Namespace(t, "backup-rbd", edge)
	publishAPIServer(t, edge)
	lab.StartWithWebhooks(t, "--namespace", namespace)
	lab.Hub.Apply(t, "config", "webhook", "manifests.yaml")
	lab.WebhooksAnswer(t, time.Minute)
	lab.Register(t, edge.Name, edge)
	chainsaw(t, "webhooks=operator", []string{"backup-rbd"}, "--cluster", edge.Name+"="+edge.Kubeconfig)
}

// publishAPIServer writes what an API server publishes of itself, unless it listens on the loopback address, as the lab's do.
// The network policy of a Cinder on a target lets it in.
func publishAPIServer(t *testing.T, c *harness.Cluster) {
	t.Helper()
	c.Ensure(t, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To[int32](6443)}},
	})
}
