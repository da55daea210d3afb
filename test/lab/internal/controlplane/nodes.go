// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
)

// stages tell kwok how nodes and pods of a cluster live.
//
//go:embed stages.yaml
var stages string

const (
	// podCIDR is a range for benchmarks of network devices (RFC 2544) that nothing routes. Loopback and link-local
	// addresses are refused by the API server as endpoints.
	podCIDR = "198.18.128.0/17"
	nodeIP  = "198.18.0.10"
)

// NodeName is the name of the i-th fake node of each cluster.
func NodeName(i int) string { return fmt.Sprintf("fake-%d", i) }

// createNodes creates the Node objects and waits until kwok has made them ready. Each is a zone of its own.
func (c *Cluster) createNodes(ctx context.Context) error {
	client, err := kubeclient.Typed(c.opts.Dir.Kubeconfig(c.opts.Name))
	if err != nil {
		return err
	}
	for i := range c.opts.FakeNodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: NodeName(i),
			Labels: map[string]string{
				corev1.LabelHostname:       NodeName(i),
				corev1.LabelOSStable:       "linux",
				corev1.LabelArchStable:     "amd64",
				corev1.LabelTopologyZone:   fmt.Sprintf("zone-%d", i),
				corev1.LabelTopologyRegion: "lab",
				"type":                     "kwok",
			},
		}}
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create Node %s: %w", node.Name, err)
		}
	}
	nodes, err := c.watchable("nodes")
	if err != nil {
		return err
	}
	for i := range c.opts.FakeNodes {
		err := kubeclient.Await(ctx, nodes, NodeName(i), func(live *unstructured.Unstructured) (bool, error) {
			return kubeclient.IsTrue(live, string(corev1.NodeReady)), nil
		})
		if err != nil {
			return fmt.Errorf("await Node %s Ready (log of kwok: %s): %w", NodeName(i), c.opts.Dir.Log(c.opts.Name, programKwok), err)
		}
	}
	return nil
}

// awaitServiceAccount waits for the sign that the controller manager works: without this object no pod can be created.
func (c *Cluster) awaitServiceAccount(ctx context.Context) error {
	accounts, err := c.watchable("serviceaccounts")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if manager := c.process(programControllerManager); manager != nil {
		go func() {
			select {
			case <-manager.Done():
				cancel(manager.Err())
			case <-ctx.Done():
			}
		}()
	}
	err = kubeclient.Await(ctx, accounts.Namespace(metav1.NamespaceDefault), "default", func(live *unstructured.Unstructured) (bool, error) {
		return live != nil, nil
	})
	if ended := context.Cause(ctx); err != nil && ended != nil {
		err = ended
	}
	if err != nil {
		return fmt.Errorf("await ServiceAccount default/default (log of the controller manager: %s): %w",
			c.opts.Dir.Log(c.opts.Name, programControllerManager), err)
	}
	return nil
}

// watchable is a client of one of the core kinds.
func (c *Cluster) watchable(resource string) (dynamic.NamespaceableResourceInterface, error) {
	client, err := kubeclient.Dynamic(c.opts.Dir.Kubeconfig(c.opts.Name))
	if err != nil {
		return nil, err
	}
	return client.Resource(corev1.SchemeGroupVersion.WithResource(resource)), nil
}
