// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeclient connects to the clusters of a lab as their administrator.
package kubeclient

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config reads a kubeconfig file. Its clients have no timeout of their own: a request may take until its context
// ends, which is as long as the command may take that makes it. On a busy machine an API server is slow for much
// longer than any constant would allow, and a lab has to come up there too.
func Config(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return persistent{next} })
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
