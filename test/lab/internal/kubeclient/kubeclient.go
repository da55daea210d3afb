// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeclient connects to the clusters of a lab as their administrator.
package kubeclient

import (
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Timeout bounds each request that the lab makes. API servers of a lab are near and small: one that has not
// answered by then is black.
const Timeout = 10 * time.Second

// Config reads a kubeconfig file.
func Config(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	config.Timeout = Timeout
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "cinder-lab"
	return config, nil
}

// Typed is a client for Kubernetes' own kinds.
func Typed(path string) (kubernetes.Interface, error) {
	config, err := Config(path)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// Dynamic is a client for any kind.
func Dynamic(path string) (dynamic.Interface, error) {
	config, err := Config(path)
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}
