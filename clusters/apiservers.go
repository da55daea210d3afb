// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// apiServersTTL is how long the addresses of a cluster's API servers are reused. Every pass over every Cinder with a
// network policy asks for them, and they change when a control plane node is replaced.
const apiServersTTL = 2 * time.Minute

// apiServersSlice is where API servers publish their own addresses.
var apiServersSlice = client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}

var errNoAddress = errors.New("it lists no address")

// apiServers answers where a cluster's API servers reach pods from. The zero value has read nothing.
type apiServers struct {
	mu    sync.Mutex // guards the fields below; never held across a read
	cidrs []string
	at    time.Time
}

// read gives the networks of the API servers, sorted: each address as a network of its own.
func (a *apiServers) read(ctx context.Context, reader client.Reader, cluster string, now time.Time) ([]string, error) {
	a.mu.Lock()
	cidrs, fresh := slices.Clone(a.cidrs), a.cidrs != nil && now.Sub(a.at) < apiServersTTL
	a.mu.Unlock()
	if fresh {
		return cidrs, nil
	}
	slice := &discoveryv1.EndpointSlice{}
	err := reader.Get(ctx, apiServersSlice, slice)
	if err == nil {
		cidrs, err = cidrsOf(slice)
	}
	if err != nil {
		return nil, fmt.Errorf("get the API servers' EndpointSlice %s on %s: %w", apiServersSlice, cluster, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cidrs, a.at = cidrs, now
	return slices.Clone(cidrs), nil
}

func cidrsOf(slice *discoveryv1.EndpointSlice) ([]string, error) {
	var cidrs []string
	for _, endpoint := range slice.Endpoints {
		for _, text := range endpoint.Addresses {
			addr, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("%q is no address", text)
			}
			addr = addr.Unmap().WithZone("")
			cidrs = append(cidrs, netip.PrefixFrom(addr, addr.BitLen()).String())
		}
	}
	if len(cidrs) == 0 {
		return nil, errNoAddress
	}
	slices.Sort(cidrs)
	return slices.Compact(cidrs), nil
}

// APIServerCIDRs is part of Target. What the registration says outranks what the cluster says: where a tunnel stands
// between API servers and pods, the latter see other addresses.
func (c *connection) APIServerCIDRs(ctx context.Context) ([]string, error) {
	if len(c.reg.APIServerCIDRs) == 0 {
		cidrs, err := c.apiServers.read(ctx, c.reader, c.String(), time.Now())
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || errors.Is(err, errNoAddress) {
			// Time heals none of these, and some clusters never publish the addresses.
			err = fmt.Errorf("%w; name the networks that its API servers reach pods from under %s in the registration, or as the annotation %s of a Cluster",
				err, v1alpha1.RegistrationKeyAPIServerCIDRs, v1alpha1.AnnotationAPIServerCIDRs)
		}
		return cidrs, err
	}
	out := make([]string, 0, len(c.reg.APIServerCIDRs))
	for _, prefix := range c.reg.APIServerCIDRs {
		out = append(out, prefix.String())
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// APIServerCIDRs is part of Target.
func (h *hub) APIServerCIDRs(ctx context.Context) ([]string, error) {
	return h.apiServers.read(ctx, h.reader, h.String(), time.Now())
}
