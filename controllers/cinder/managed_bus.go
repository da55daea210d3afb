// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/internal/render/urls"
)

// The data keys of a RabbitmqCluster's default user beside the credentials.
const (
	keyHost = "host"
	keyPort = "port"
)

// managedTransport assembles the URL of a managed broker out of its default
// user's Secret. The message says what is missing; there is no URL then.
func (r *Reconciler) managedTransport(ctx context.Context, p *Pass) (raw, message string, err error) {
	ref := types.NamespacedName{Namespace: p.Cinder.Namespace, Name: p.Cinder.Spec.Messaging.ClusterRef.Name}
	broker, message, err := reference(ctx, p, rabbitMQKind, ref)
	if err != nil || message != "" {
		return "", message, err
	}
	name, _, _ := unstructured.NestedString(broker.Object, "status", "defaultUser", "secretReference", "name")
	namespace, _, _ := unstructured.NestedString(broker.Object, "status", "defaultUser", "secretReference", "namespace")
	switch {
	case name == "":
		return "", fmt.Sprintf("RabbitmqCluster %s on %s names no Secret of its default user yet", ref, p.Target), nil
	case namespace != "" && namespace != ref.Namespace:
		return "", fmt.Sprintf("the default user of RabbitmqCluster %s on %s is in namespace %s, which is another one", ref, p.Target, namespace), nil
	}
	// Before the Secret is read: a change that comes right after has to find who
	// reads it.
	r.bus.reads(client.ObjectKeyFromObject(p.Cinder), name)
	secret, message, err := r.credentials(ctx, p, name, keyUsername, keyPassword, keyHost, keyPort)
	if err != nil || message != "" {
		return "", message, err
	}
	at := fmt.Sprintf("Secret %s/%s on %s", ref.Namespace, name, p.Target)
	port := portOf(string(secret.Data[keyPort]))
	if port == 0 {
		return "", fmt.Sprintf("%s has no port from 1 to 65535 under the key %q", at, keyPort), nil
	}
	raw, err = urls.Broker{
		Host: string(secret.Data[keyHost]), Port: port,
		Username: string(secret.Data[keyUsername]), Password: string(secret.Data[keyPassword]),
	}.URL()
	if err != nil {
		return "", fmt.Sprintf("%s: %s", at, err), nil
	}
	return raw, "", nil
}

// portOf reads a TCP port; 0 is none.
func portOf(text string) int32 {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return int32(port)
}

// busMemory remembers what Cinders were last seen to use of their bus, so that an
// event can be mapped to them: a Cinder names neither the Secret of a managed
// broker's default user nor its neighbours on a virtual host. Every Cinder is
// passed over once when the process starts.
type busMemory struct {
	mu      sync.Mutex
	secrets map[types.NamespacedName]string
	vhosts  map[types.NamespacedName][]string
}

func newBusMemory() *busMemory {
	return &busMemory{secrets: map[types.NamespacedName]string{}, vhosts: map[types.NamespacedName][]string{}}
}

// reads notes the Secret of the default user; empty for none.
func (m *busMemory) reads(cinder types.NamespacedName, secret string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.secrets[cinder] = secret
}

// readers names the Cinders of a namespace that read a Secret.
func (m *busMemory) readers(namespace, secret string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for cinder, name := range m.secrets {
		if cinder.Namespace == namespace && name == secret {
			names = append(names, cinder.Name)
		}
	}
	return names
}

// uses notes the virtual hosts that a Cinder is on.
func (m *busMemory) uses(cinder types.NamespacedName, vhosts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.vhosts[cinder] = vhosts
}

// users names the Cinders that are on any of the virtual hosts.
func (m *busMemory) users(vhosts map[string]bool) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var users []types.NamespacedName
	for cinder, uses := range m.vhosts {
		for _, vhost := range uses {
			if vhosts[vhost] {
				users = append(users, cinder)
				break
			}
		}
	}
	return users
}

func (m *busMemory) forget(cinder types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.secrets, cinder)
	delete(m.vhosts, cinder)
}
