// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"c5c3.io/cinder-operator/api/v1alpha1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var optionalCases = []testCase{{"optional", hub, (*fixture).optional}}

// optional are the children that are asked for: a route that its Gateway takes
// up late, an autoscaler that somebody else has made, and others.
func (f *fixture) optional() {
	vertical := map[string]any{"spec": map[string]any{"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}}}
	other := f.foreign("VerticalPodAutoscaler", vpaVersion, "cinder-scheduler", vertical)
	f.serviceUser()
	f.create(withKeystone, withGateway, withVPA, withHPA, withNetworkPolicy)
	f.says(not(v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonHTTPRouteNotAccepted), not(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPAError),
		is(v1alpha1.ConditionHPAReady, v1alpha1.ReasonHPAReady), is(v1alpha1.ConditionNetworkPolicyReady, v1alpha1.ReasonNetworkPolicyReady))
	f.cluster.Delete(f, other)
	f.poke()
	f.says(is(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPAReady))

	route := unstructuredOf("HTTPRoute", routeVersion, f.ns, "cinder")
	f.cluster.Get(f, clientKey(route), route)
	setStatus(f, f.cluster, route, accepted(route))
	f.says(is(v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonHTTPRouteAccepted))
}

// accepted is what the Gateway says of the route as it is.
func accepted(route *unstructured.Unstructured) map[string]any {
	return map[string]any{"parents": []any{map[string]any{
		"parentRef": map[string]any{"name": "gw"}, "controllerName": "example.org/gateway",
		"conditions": []any{map[string]any{
			"type": "Accepted", "status": "True", "reason": "Accepted", "message": "played", "observedGeneration": route.GetGeneration(),
			"lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
		}},
	}}}
}
