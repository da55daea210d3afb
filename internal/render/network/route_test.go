// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/network"
	"c5c3.io/cinder-operator/internal/render/rendertest"
)

func TestTheRoutePublishesTheService(t *testing.T) {
	c, _, _ := full()
	render := func() string { return rendertest.YAML(t, network.HTTPRoute(c)) }
	rendertest.Golden(t, "httproute-full.yaml", render())
	rendertest.Stable(t, render)
	if got := network.Endpoint(c); got != "https://volume.example.org/" {
		t.Errorf("the endpoint is %q", got)
	}

	c.Spec.Gateway = &v1alpha1.GatewaySpec{ParentRef: v1alpha1.GatewayParentRefSpec{Name: "public"}, Hostname: "volume.example.org"}
	rendertest.Golden(t, "httproute-plain.yaml", rendertest.YAML(t, network.HTTPRoute(c)))

	c.Spec.Gateway = nil
	if network.HTTPRoute(c) != nil {
		t.Error("a route without a gateway")
	}
	if got := network.Endpoint(c); got != "http://cinder.openstack.svc.cluster.local:8776" {
		t.Errorf("the endpoint is %q", got)
	}
}
