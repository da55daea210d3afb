// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestEachAddressOfAnAPIServerIsANetwork(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		addresses []string
		want      []string
		fault     string
	}{
		"IPv4, sorted and once": {[]string{"192.0.2.9", "192.0.2.10", "192.0.2.9"}, []string{"192.0.2.10/32", "192.0.2.9/32"}, ""},
		"IPv6":                  {[]string{"2001:db8::1"}, []string{"2001:db8::1/128"}, ""},
		"IPv4 in IPv6":          {[]string{"::ffff:192.0.2.1"}, []string{"192.0.2.1/32"}, ""},
		"none":                  {nil, nil, "no address"},
		"a name":                {[]string{"api.example.org"}, nil, `"api.example.org" is no address`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := cidrsOf(&discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: tc.addresses}}})
			if !slices.Equal(got, tc.want) || (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("got %v, %v; want %v, %q", got, err, tc.want, tc.fault)
			}
		})
	}
}

// sliceReader answers a read of an EndpointSlice and counts them.
type sliceReader struct {
	client.Reader
	address string
	err     error
	reads   int
}

func (r *sliceReader) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	r.reads++
	if key.String() != "default/kubernetes" {
		return errors.New("not asked for")
	}
	slice, ok := obj.(*discoveryv1.EndpointSlice)
	if !ok {
		return errors.New("not asked for")
	}
	slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{r.address}}}
	return r.err
}

func TestTheAddressesOfAPIServersAreReadAgainAfterAWhile(t *testing.T) {
	t.Parallel()
	var a apiServers
	reader := &sliceReader{address: "192.0.2.1"}
	start := time.Now()
	read := func(at time.Duration) string {
		t.Helper()
		got, err := a.read(t.Context(), reader, `"edge-1"`, start.Add(at))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(got, ",")
	}
	read(0)
	reader.address = "192.0.2.2"
	if got := read(apiServersTTL - time.Second); got != "192.0.2.1/32" || reader.reads != 1 {
		t.Errorf("got %s after %d reads, want what was read first", got, reader.reads)
	}
	if got := read(apiServersTTL); got != "192.0.2.2/32" || reader.reads != 2 {
		t.Errorf("got %s after %d reads, want what is there now", got, reader.reads)
	}
	reader.err = errors.New("forbidden")
	_, err := a.read(t.Context(), reader, `"edge-1"`, start.Add(3*apiServersTTL))
	if err == nil || !strings.Contains(err.Error(), "default/kubernetes") || !strings.Contains(err.Error(), `"edge-1"`) {
		t.Errorf("error is %v, want it to name object and cluster", err)
	}
}

func TestWhereTheAddressesCannotBeReadTheWayOutIsNamed(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	for name, tc := range map[string]struct {
		err     error
		address string
		named   bool
	}{
		"none is published":     {err: apierrors.NewNotFound(resource, "kubernetes"), named: true},
		"nobody may read it":    {err: apierrors.NewForbidden(resource, "kubernetes", errors.New("no rule")), named: true},
		"the cluster is silent": {err: context.DeadlineExceeded},
		"it is there":           {address: "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &connection{name: "edge-1", reg: &Registration{}, reader: &sliceReader{address: tc.address, err: tc.err}}
			_, err := c.APIServerCIDRs(t.Context())
			if (err != nil) != (tc.err != nil) || err != nil && !errors.Is(err, tc.err) {
				t.Fatalf("error is %v, want that of the read: %v", err, tc.err)
			}
			for _, remedy := range []string{v1alpha1.RegistrationKeyAPIServerCIDRs, v1alpha1.AnnotationAPIServerCIDRs} {
				if err != nil && strings.Contains(err.Error(), remedy) != tc.named {
					t.Errorf("error is %v; names %s: want %v", err, remedy, tc.named)
				}
			}
		})
	}
}
