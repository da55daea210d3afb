// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

// hubTimeout bounds what is asked of the hub before the manager starts: an
// unreachable hub is an error that somebody reads, not a silent wait.
const hubTimeout = 10 * time.Second

const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// hub is the connection to the cluster that holds the custom resources.
type hub struct {
	config *rest.Config
	// inCluster tells that the operator runs in a pod of the hub, where the
	// names of Services resolve.
	inCluster bool
	// namespace is the pod's own; empty outside the cluster.
	namespace string
}

// findHub reads how the hub is reached. It connects to nothing.
func findHub(kubeconfig string) (hub, error) {
	h := hub{}
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		switch {
		case err == nil:
			ns, err := os.ReadFile(podNamespaceFile)
			if err != nil {
				return h, fmt.Errorf("read the namespace of this pod: %w", err)
			}
			h = hub{config: config, inCluster: true, namespace: strings.TrimSpace(string(ns))}
		case !errors.Is(err, rest.ErrNotInCluster):
			return h, fmt.Errorf("read the service account of this pod: %w", err)
		}
	}
	if h.config == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = kubeconfig
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if err != nil {
			return h, fmt.Errorf("find the hub (set --kubeconfig outside a cluster): %w", err)
		}
		h.config = config
	}
	h.config.UserAgent = "cinder-operator"
	// The API server's own flow control shares the hub out; a limit here would
	// make one busy controller delay another.
	h.config.QPS = -1
	clusters.BoundCalls(h.config, clusters.Timing{})
	return h, nil
}

// disconnect closes the connections that nothing uses any more. Every client
// with the hub's settings shares them.
func (h hub) disconnect() {
	if transport, err := rest.TransportFor(h.config); err == nil {
		utilnet.CloseIdleConnectionsFor(transport)
	}
}

// identity asks the hub for what every child is labelled with.
func (h hub) identity(ctx context.Context, scheme *runtime.Scheme, flag string) (string, error) {
	config := rest.CopyConfig(h.config)
	config.Timeout = hubTimeout
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return "", fmt.Errorf("connect to the hub at %s: %w", h.config.Host, err)
	}
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	id, err := projection.HubID(ctx, reader, flag)
	if err != nil {
		return "", fmt.Errorf("identify the hub at %s: %w", h.config.Host, err)
	}
	return id, nil
}
