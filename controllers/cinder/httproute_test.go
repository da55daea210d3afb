// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestOnlyTheOwnGatewaysWordOnThePresentRouteCounts(t *testing.T) {
	t.Parallel()
	parent := v1alpha1.GatewayParentRefSpec{Name: "gw", Namespace: "infra", SectionName: "https"}
	own := gatewayv1.ParentReference{Name: "gw", Namespace: ptr.To[gatewayv1.Namespace]("infra"), SectionName: ptr.To[gatewayv1.SectionName]("https")}
	other := own
	other.Name = "other"
	section := own
	section.SectionName = nil
	says := func(ref gatewayv1.ParentReference, status metav1.ConditionStatus, generation int64) gatewayv1.RouteParentStatus {
		return gatewayv1.RouteParentStatus{ParentRef: ref, Conditions: []metav1.Condition{
			{Type: string(gatewayv1.RouteConditionAccepted), Status: status, ObservedGeneration: generation, Reason: "NoMatchingListenerHostname"},
		}}
	}
	for name, c := range map[string]struct {
		parents []gatewayv1.RouteParentStatus
		want    bool
	}{
		"silence":                       {nil, false},
		"accepted":                      {[]gatewayv1.RouteParentStatus{says(own, metav1.ConditionTrue, 3)}, true},
		"refused":                       {[]gatewayv1.RouteParentStatus{says(own, metav1.ConditionFalse, 3)}, false},
		"accepted in a former version":  {[]gatewayv1.RouteParentStatus{says(own, metav1.ConditionTrue, 2)}, false},
		"accepted by another Gateway":   {[]gatewayv1.RouteParentStatus{says(other, metav1.ConditionTrue, 3)}, false},
		"accepted by another section":   {[]gatewayv1.RouteParentStatus{says(section, metav1.ConditionTrue, 3)}, false},
		"another refuses, ours accepts": {[]gatewayv1.RouteParentStatus{says(other, metav1.ConditionFalse, 3), says(own, metav1.ConditionTrue, 3)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Generation: 3}}
			route.Status.Parents = c.parents
			ok, message := acceptedBy(route, parent)
			if ok != c.want || (message == "") != c.want {
				t.Errorf("accepted is %v (%s)", ok, message)
			}
		})
	}
}
