// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

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
	for i := range c.opts.FakeNodes {
		if err := awaitNode(ctx, client, NodeName(i)); err != nil {
			return fmt.Errorf("await Node %s Ready (log of kwok: %s): %w", NodeName(i), c.opts.Dir.Log(c.opts.Name, programKwok), err)
		}
	}
	return nil
}

func awaitNode(ctx context.Context, client kubernetes.Interface, name string) error {
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionTrue, nil
			}
		}
		return false, nil
	})
}

// awaitServiceAccount waits for the sign that the controller manager works: without this object no pod can be created.
func (c *Cluster) awaitServiceAccount(ctx context.Context) error {
	client, err := kubeclient.Typed(c.opts.Dir.Kubeconfig(c.opts.Name))
	if err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, 2*pollInterval, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return true, nil
		}
		if manager := c.process(programControllerManager); manager != nil && !manager.Running() {
			return false, manager.Err()
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("await ServiceAccount default/default (log of the controller manager: %s): %w",
			c.opts.Dir.Log(c.opts.Name, programControllerManager), err)
	}
	return nil
}
