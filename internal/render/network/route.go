// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// HTTPRoute renders the route through which a Gateway publishes the API, or
// nil without spec.gateway.
func HTTPRoute(c *v1alpha1.Cinder) *gatewayv1.HTTPRoute {
	spec := c.Spec.Gateway
	if spec == nil {
		return nil
	}
	parent := gatewayv1.ParentReference{Name: gatewayv1.ObjectName(spec.ParentRef.Name)}
	if spec.ParentRef.Namespace != "" {
		parent.Namespace = ptr.To(gatewayv1.Namespace(spec.ParentRef.Namespace))
	}
	if spec.ParentRef.SectionName != "" {
		parent.SectionName = ptr.To(gatewayv1.SectionName(spec.ParentRef.SectionName))
	}
	return &gatewayv1.HTTPRoute{
		TypeMeta: metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: "HTTPRoute"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Name, Namespace: c.Namespace,
			Labels:      render.Labels(c.Name, render.ComponentAPI),
			Annotations: maps.Clone(spec.Annotations),
		},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{parent}},
			Hostnames:       []gatewayv1.Hostname{gatewayv1.Hostname(spec.Hostname)},
			Rules: []gatewayv1.HTTPRouteRule{{
				Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{
					Type: ptr.To(gatewayv1.PathMatchPathPrefix), Value: ptr.To(spec.EffectivePath()),
				}}},
				BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
					BackendObjectReference: gatewayv1.BackendObjectReference{
						Name: gatewayv1.ObjectName(c.Name), Port: ptr.To(gatewayv1.PortNumber(render.APIPort)),
					},
				}}},
			}},
		},
	}
}

// Endpoint is the URL the API is reached at: through the Gateway where there is
// one, else the Service's.
func Endpoint(c *v1alpha1.Cinder) string {
	if c.Spec.Gateway != nil {
		return "https://" + c.Spec.Gateway.Hostname + "/"
	}
	return ServiceEndpoint(c)
}

// ServiceEndpoint is the URL of the API's Service inside the cluster, without a
// slash at its end.
func ServiceEndpoint(c *v1alpha1.Cinder) string {
	return "http://" + c.Name + "." + c.Namespace + ".svc.cluster.local:8776"
}
