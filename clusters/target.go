// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Target is one cluster that children live on. The hub is a Target like any
// other: a caller never asks whether it is local to decide what to write.
// A Target is a snapshot of one connection: it stays usable until the
// connection is replaced, after which its calls fail with an UnavailableError.
type Target interface {
	// Name is the registered name; empty for the hub.
	Name() string
	// IsHub tells whether this is the cluster that holds the custom resources.
	IsHub() bool
	// UID is the identity of the cluster: the UID of its kube-system namespace
	// (a hash of server and CA where that may not be read).
	UID() types.UID
	// Client writes, and reads children from the ownership-selected cache.
	// A read of a kind that is not cached fails instead of starting an informer.
	Client() client.Client
	// APIReader reads live, with the deadline of every remote call.
	APIReader() client.Reader
	// Inputs reads the content of Secrets and ConfigMaps that are not ours.
	Inputs() Inputs
	// Serves answers from discovery, never by a fresh call. The error says that
	// the question itself could not be answered.
	Serves(gvk schema.GroupVersionKind) (bool, error)
	// ServiceProxy asks a Service through the API server's services/proxy.
	ServiceProxy(ctx context.Context, req ServiceRequest) (ServiceResponse, error)
	// APIServerCIDRs are the networks from which the cluster's own API servers
	// reach pods, sorted: those of its registration, else the addresses that the
	// API servers publish, which may be a few minutes old.
	APIServerCIDRs(ctx context.Context) ([]string, error)
	// String names the cluster in messages: `the hub` or `"edge-1"`.
	String() string
}

// Inputs reads objects that users own. A read is answered from memory while
// the metadata watch shows the resourceVersion that was last read, and goes to
// the API server otherwise. A missing object is an apierrors NotFound.
type Inputs interface {
	Secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)
	ConfigMap(ctx context.Context, key types.NamespacedName) (*corev1.ConfigMap, error)
}

// ServiceRequest names what to ask of a Service.
type ServiceRequest struct {
	Namespace, Name string
	// Port is the Service port's name or number.
	Port string
	// Path is the HTTP path, with its leading slash.
	Path string
}

// ServiceResponse is what came back: the status of the Service's own answer or
// of the API server that could not reach it.
type ServiceResponse struct {
	StatusCode int
	// Body is cut to 4 KiB.
	Body []byte
	// FromProxy tells that the API server answered in place of the Service
	// (it had no endpoints, or dialling one failed); Body is then a metav1.Status.
	FromProxy bool
}
