// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/internal/render/network"
)

var httpRouteKind = schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "HTTPRoute"}

// reconcileHTTPRoute publishes the API through a Gateway, or withdraws it.
func (r *Reconciler) reconcileHTTPRoute(ctx context.Context, p *Pass) (ctrl.Result, error) {
	typ := v1alpha1.ConditionHTTPRouteReady
	served, err := p.Target.Serves(httpRouteKind)
	if err != nil {
		if _, unavailable := clusters.AsUnavailable(err); unavailable {
			return ctrl.Result{}, err
		}
		p.setFalse(typ, v1alpha1.ReasonCapabilityProbeFailed, "whether %s serves HTTPRoutes could not be asked: %s", p.Target, err)
		return ctrl.Result{RequeueAfter: r.Intervals.DeploymentPolling}, nil
	}
	if p.Cinder.Spec.Gateway == nil {
		if served {
			gone := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Name: p.Cinder.Name, Namespace: p.Cinder.Namespace}}
			if err := remove(ctx, p, gone); err != nil {
				return ctrl.Result{}, err
			}
		}
		p.setTrue(typ, v1alpha1.ReasonHTTPRouteNotRequired, "spec.gateway is not set")
		return ctrl.Result{}, nil
	}
	if !served {
		// The registry's next change tells when the API appears.
		p.setFalse(typ, v1alpha1.ReasonGatewayAPINotInstalled, "spec.gateway is set, but %s does not serve HTTPRoutes", p.Target)
		return ctrl.Result{}, nil
	}
	live, err := apply(ctx, p, network.HTTPRoute(p.Cinder))
	if err != nil {
		return ctrl.Result{}, err
	}
	if ok, message := acceptedBy(live, p.Cinder.Spec.Gateway.ParentRef); !ok {
		p.setFalse(typ, v1alpha1.ReasonHTTPRouteNotAccepted, "%s", message)
		return ctrl.Result{}, nil
	}
	p.setTrue(typ, v1alpha1.ReasonHTTPRouteAccepted, "the Gateway accepts the route")
	return ctrl.Result{}, nil
}

// acceptedBy reads what the route's own parent says of the route as it is now.
// Another parent's word, or one about an earlier generation, does not count.
func acceptedBy(route *gatewayv1.HTTPRoute, parent v1alpha1.GatewayParentRefSpec) (bool, string) {
	for _, status := range route.Status.Parents {
		ref := status.ParentRef
		namespace := string(ptr.Deref(ref.Namespace, gatewayv1.Namespace(route.Namespace)))
		wanted := parent.Namespace
		if wanted == "" {
			wanted = route.Namespace
		}
		if string(ref.Name) != parent.Name || namespace != wanted || string(ptr.Deref(ref.SectionName, "")) != parent.SectionName {
			continue
		}
		c := meta.FindStatusCondition(status.Conditions, string(gatewayv1.RouteConditionAccepted))
		switch {
		case c == nil || c.ObservedGeneration != route.Generation:
		case c.Status == metav1.ConditionTrue:
			return true, ""
		default:
			return false, "Gateway " + parent.Name + " does not accept the route: " + c.Reason + ": " + c.Message
		}
	}
	return false, "Gateway " + parent.Name + " has not answered to the route yet"
}
