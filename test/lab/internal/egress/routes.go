// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
)

// Routes forward connections to the ClusterIP of a Service to an address on the host.
type Routes struct {
	mu     sync.Mutex // guards routes; never held across I/O
	routes map[string]string
}

// Set forwards a Service, named as NAMESPACE/NAME, to an address, or no longer if the address is empty.
func (r *Routes) Set(service, to string) error {
	namespace, name, ok := strings.Cut(service, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("parse Service %q: not of the form NAMESPACE/NAME", service)
	}
	if to != "" {
		if _, _, err := net.SplitHostPort(to); err != nil {
			return fmt.Errorf("parse address %q: %w", to, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.routes == nil {
		r.routes = map[string]string{}
	}
	if to == "" {
		delete(r.routes, service)
		return nil
	}
	r.routes[service] = to
	return nil
}

// List returns a copy: Service to address.
func (r *Routes) List() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.routes)
}

// find returns where an address inside the cluster is forwarded to. The Service is looked up each time: one that was
// deleted and created again has another address.
func (r *Routes) find(ctx context.Context, client kubernetes.Interface, ip string) (string, error) {
	for service, to := range r.List() {
		namespace, name, _ := strings.Cut(service, "/")
		found, err := client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("get Service %s: %w", service, err)
		}
		if found.Spec.ClusterIP == ip {
			return to, nil
		}
	}
	return "", nil
}

// podAt finds the pod that has an address now: the newest that has not ended, since a restarted kwok hands addresses
// out again. It is nil if there is none.
func podAt(ctx context.Context, client kubernetes.Interface, ip string) (*corev1.Pod, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("status.podIP", ip).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list Pods at %s: %w", ip, err)
	}
	var newest *corev1.Pod
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp) {
			newest = pod
		}
	}
	return newest, nil
}
