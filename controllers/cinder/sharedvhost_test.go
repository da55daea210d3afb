// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"slices"
	"testing"

	"c5c3.io/cinder-operator/internal/render/urls"
)

func TestVirtualHostsAreComparedByBrokerAndName(t *testing.T) {
	t.Parallel()
	labels := func(raw string) []string {
		t.Helper()
		transport, err := urls.ParseTransport(raw)
		if err != nil {
			t.Fatal(err)
		}
		return vhostLabels(transport, "openstack")
	}
	const plain = "rabbit://u:p@rabbit.openstack.svc/cinder"
	for name, c := range map[string]struct {
		raw    string
		shared bool
	}{
		"other credentials":            {"rabbit://v:q@rabbit.openstack.svc/cinder", true},
		"the port of TLS":              {"rabbit://u:p@rabbit.openstack.svc:5671/cinder", true},
		"the whole name":               {"rabbit://u:p@Rabbit.openstack.svc.cluster.local/cinder", true},
		"the Service beside the pods":  {"rabbit://u:p@rabbit/cinder", true},
		"an escaped virtual host":      {"rabbit://u:p@rabbit.openstack.svc/cind%65r", true},
		"one of several hosts":         {"rabbit://u:p@a,u:p@rabbit/cinder", true},
		"another virtual host":         {"rabbit://u:p@rabbit.openstack.svc/cinder-2", false},
		"the default virtual host":     {"rabbit://u:p@rabbit.openstack.svc/", false},
		"a Service of another project": {"rabbit://u:p@rabbit.other.svc/cinder", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := slices.ContainsFunc(labels(c.raw), func(l string) bool { return slices.Contains(labels(plain), l) })
			if shared != c.shared {
				t.Errorf("%s and %s are one virtual host: %t, want %t", plain, c.raw, shared, c.shared)
			}
		})
	}
	if a, b := labels("rabbit://u:p@rabbit"), labels("rabbit://u:p@rabbit/%2F"); !slices.Equal(a, b) {
		t.Errorf("the default virtual host has the labels %v and %v", a, b)
	}
}
