// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/projection"
)

func apiServersAt(cidrs string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Data[v1alpha1.RegistrationKeyAPIServerCIDRs] = []byte(cidrs) }
}

func vertical(mode v1alpha1.VerticalAutoscalingMode) *v1alpha1.DeploymentSpec {
	return &v1alpha1.DeploymentSpec{VerticalAutoscaling: &v1alpha1.VerticalAutoscalingSpec{UpdateMode: mode}}
}

// verticals are the names of the test's VerticalPodAutoscalers.
func (f *fixture) verticals() ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(projection.VerticalPodAutoscaler.GroupVersion().WithKind("VerticalPodAutoscalerList"))
	if err := f.children.List(f.Context(), list, client.InNamespace(f.ns)); err != nil {
		return nil, err
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	slices.Sort(names)
	return names, nil
}

func (f *fixture) awaitVerticals(want ...string) {
	f.Helper()
	f.eventually(fmt.Sprintf("VerticalPodAutoscalers %v", want), func(context.Context) error {
		have, err := f.verticals()
		if err == nil && !slices.Equal(have, want) {
			err = fmt.Errorf("there are %v", have)
		}
		return err
	})
}

func TestVerticalPodAutoscalersComeAndGoWithTheirDeployments(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	f.awaitCondition(v1alpha1.ConditionVPAReady, metav1.ConditionTrue, v1alpha1.ReasonVPANotRequired)
	f.update(func(cr *v1alpha1.Cinder) {
		cr.Spec.API = &v1alpha1.APISpec{Deployment: vertical(v1alpha1.VerticalAutoscalingOff)}
		cr.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: vertical(v1alpha1.VerticalAutoscalingInitial)}
		cr.Spec.Volume = &v1alpha1.VolumeSpec{Deployment: vertical(v1alpha1.VerticalAutoscalingRecreate)}
		cr.Spec.Backup = &v1alpha1.BackupSpec{Deployment: vertical(v1alpha1.VerticalAutoscalingRecreate)}
		cr.Spec.Volume.Deployment.VerticalAutoscaling.MinReplicas = ptr.To[int32](1)
		cr.Spec.Volume.Deployment.VerticalAutoscaling.MinAllowed = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("368Mi")}
	})
	f.awaitVerticals("cinder", "cinder-backup", "cinder-scheduler", "cinder-volume-nfs-a")
	f.awaitReady()
	f.awaitCondition(v1alpha1.ConditionVPAReady, metav1.ConditionTrue, v1alpha1.ReasonVPAReady)
	vpa := &unstructured.Unstructured{}
	vpa.SetGroupVersionKind(projection.VerticalPodAutoscaler)
	f.awaitChild(vpa, "cinder-volume-nfs-a")
	if got, _, err := unstructured.NestedFieldNoCopy(vpa.Object, "spec", "updatePolicy", "minReplicas"); err != nil || got != int64(1) {
		t.Errorf("minReplicas is %v (%v)", got, err)
	}

	backup := &v1alpha1.CinderBackupBackend{ObjectMeta: metav1.ObjectMeta{Name: "nfs-b", Namespace: f.ns}}
	if err := suite.hub.Delete(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	f.awaitVerticals("cinder", "cinder-scheduler", "cinder-volume-nfs-a")
	b := &v1alpha1.CinderBackend{ObjectMeta: metav1.ObjectMeta{Name: "nfs-a", Namespace: f.ns}}
	if err := suite.hub.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	f.awaitVerticals("cinder", "cinder-scheduler")
	f.update(func(cr *v1alpha1.Cinder) {
		cr.Spec.API, cr.Spec.Scheduler, cr.Spec.Volume, cr.Spec.Backup = nil, nil, nil, nil
	})
	f.awaitVerticals()
	f.rollUntil(func(*v1alpha1.Cinder) error { return nil })
	f.awaitCondition(v1alpha1.ConditionVPAReady, metav1.ConditionTrue, v1alpha1.ReasonVPANotRequired)
}

func TestAVerticalPodAutoscalerOfSomebodyElseIsSaidToBeInTheWay(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	foreign := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"},
	}}}
	foreign.SetGroupVersionKind(projection.VerticalPodAutoscaler)
	foreign.SetNamespace(f.ns)
	foreign.SetName("cinder-scheduler")
	f.create(suite.hub, foreign)
	f.cinder(func(cr *v1alpha1.Cinder) {
		cr.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: vertical(v1alpha1.VerticalAutoscalingOff)}
	})
	f.endJob("cinder-db-sync", true)
	f.rollUntil(func(*v1alpha1.Cinder) error {
		return conditionIs(f.get(), v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPAError)
	})
	if err := contains(f.awaitCondition(v1alpha1.ConditionVPAReady, metav1.ConditionFalse, v1alpha1.ReasonVPAError), "cinder-scheduler", "left alone"); err != nil {
		t.Error(err)
	}
}

func conditionIs(cr *v1alpha1.Cinder, typ, reason string) error {
	for _, c := range cr.Status.Conditions {
		if c.Type == typ && c.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("conditions are %s", conditionsText(cr.Status.Conditions))
}

// ingress lists the sources of the only ingress rule.
func (f *fixture) ingress() ([]string, error) {
	var policy networkingv1.NetworkPolicy
	if err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: "cinder"}, &policy); err != nil {
		return nil, err
	}
	if len(policy.Spec.Ingress) != 1 {
		return nil, fmt.Errorf("%d ingress rules", len(policy.Spec.Ingress))
	}
	var out []string
	for _, peer := range policy.Spec.Ingress[0].From {
		switch {
		case peer.IPBlock != nil:
			out = append(out, peer.IPBlock.CIDR)
		case peer.NamespaceSelector != nil:
			out = append(out, peer.NamespaceSelector.MatchLabels[corev1.LabelMetadataName])
		}
	}
	return out, nil
}

func (f *fixture) awaitIngress(want ...string) {
	f.Helper()
	f.eventually(fmt.Sprintf("ingress from %v", want), func(context.Context) error {
		have, err := f.ingress()
		if err == nil && !slices.Equal(have, want) {
			err = fmt.Errorf("it is from %v", have)
		}
		return err
	})
}

func allow(namespaces ...string) *v1alpha1.NetworkPolicySpec {
	spec := &v1alpha1.NetworkPolicySpec{}
	for _, ns := range namespaces {
		spec.Ingress = append(spec.Ingress, v1alpha1.NetworkPolicyIngressSource{
			NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
		})
	}
	return spec
}

func TestTheNetworkPolicyOfATargetAdmitsItsAPIServers(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge", apiServersAt("198.51.100.0/24, 192.0.2.7/32"))
	f.install()
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.NetworkPolicy = allow("clients") })
	f.awaitIngress("clients", "192.0.2.7/32", "198.51.100.0/24")
	f.awaitCondition(v1alpha1.ConditionNetworkPolicyReady, metav1.ConditionTrue, v1alpha1.ReasonNetworkPolicyReady)

	// A Gateway brings its namespace along.
	f.secret("user", map[string]string{"pw": "secret"})
	f.update(func(cr *v1alpha1.Cinder) {
		withKeystone(cr)
		cr.Spec.Gateway = &v1alpha1.GatewaySpec{Hostname: "volume.example.org", ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw", Namespace: "gateways"}}
	})
	f.endNextJob("cinder-db-sync")
	f.rollUntil(func(*v1alpha1.Cinder) error {
		have, err := f.ingress()
		if err == nil && !slices.Contains(have, "gateways") {
			err = fmt.Errorf("ingress is from %v", have)
		}
		return err
	})

	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.NetworkPolicy = nil })
	f.awaitGone(&networkingv1.NetworkPolicy{}, "cinder")
}

// Without a word in the registration the API servers' own addresses count.
func TestTheNetworkPolicyAdmitsTheAddressesThatAPIServersPublish(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.NetworkPolicy = allow("clients") })
	var slice discoveryv1.EndpointSlice
	if err := suite.hub.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "kubernetes"}, &slice); err != nil {
		t.Fatal(err)
	}
	want := []string{"clients"}
	for _, endpoint := range slice.Endpoints {
		want = append(want, endpoint.Addresses[0]+"/32")
	}
	if len(want) < 2 {
		t.Fatalf("the API server publishes no address: %v", slice.Endpoints)
	}
	f.awaitIngress(want...)
}

func TestAnHTTPRouteIsPublishedAndWithdrawn(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	f.secret("user", map[string]string{"pw": "secret"})
	f.update(func(cr *v1alpha1.Cinder) {
		withKeystone(cr)
		cr.Spec.Gateway = &v1alpha1.GatewaySpec{Hostname: "volume.example.org", ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw", Namespace: "gateways"}}
	})
	f.endNextJob("cinder-db-sync")
	f.rollUntil(func(cr *v1alpha1.Cinder) error {
		return conditionIs(cr, v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonHTTPRouteNotAccepted)
	})
	var route gatewayv1.HTTPRoute
	answer := func(parent string, generation int64, status metav1.ConditionStatus) {
		t.Helper()
		f.eventually("answer to the route", func(ctx context.Context) error {
			f.awaitChild(&route, "cinder")
			route.Status.Parents = []gatewayv1.RouteParentStatus{{
				ParentRef:      gatewayv1.ParentReference{Name: gatewayv1.ObjectName(parent), Namespace: ptr.To[gatewayv1.Namespace]("gateways")},
				ControllerName: "example.org/gateway",
				Conditions: []metav1.Condition{{
					Type: string(gatewayv1.RouteConditionAccepted), Status: status, Reason: "ByTheTest", ObservedGeneration: generation, LastTransitionTime: metav1.Now(),
				}},
			}}
			return suite.hub.Status().Update(ctx, &route)
		})
	}
	f.awaitChild(&route, "cinder")
	answer("gw", route.Generation, metav1.ConditionFalse)
	f.eventually("the Gateway's refusal", func(context.Context) error {
		return contains(f.awaitCondition(v1alpha1.ConditionHTTPRouteReady, metav1.ConditionFalse, v1alpha1.ReasonHTTPRouteNotAccepted), "ByTheTest")
	})
	answer("gw", route.Generation, metav1.ConditionTrue)
	f.awaitCondition(v1alpha1.ConditionHTTPRouteReady, metav1.ConditionTrue, v1alpha1.ReasonHTTPRouteAccepted)
	answer("other", route.Generation, metav1.ConditionTrue)
	f.awaitCondition(v1alpha1.ConditionHTTPRouteReady, metav1.ConditionFalse, v1alpha1.ReasonHTTPRouteNotAccepted)

	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Gateway = nil })
	f.awaitGone(&gatewayv1.HTTPRoute{}, "cinder")
	f.awaitCondition(v1alpha1.ConditionHTTPRouteReady, metav1.ConditionTrue, v1alpha1.ReasonHTTPRouteNotRequired)
	if got := f.get().Status.Endpoint; !strings.HasPrefix(got, "http://cinder.") {
		t.Errorf("endpoint is %q", got)
	}
}

func TestTheAutoscalersReplicasAreKeptWithinTheBounds(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	f.update(func(cr *v1alpha1.Cinder) {
		cr.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MinReplicas: ptr.To[int32](2), MaxReplicas: 5, TargetCPUUtilization: ptr.To[int32](80)}
	})
	scale := func(n int32) {
		t.Helper()
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n))
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: "cinder"}}
		if err := suite.hub.SubResource("scale").Patch(t.Context(), d, patch); err != nil {
			t.Fatal(err)
		}
	}
	replicas := func(want int32) {
		t.Helper()
		f.rollUntil(func(cr *v1alpha1.Cinder) error {
			var d appsv1.Deployment
			f.awaitChild(&d, "cinder")
			if *d.Spec.Replicas != want || cr.Status.ObservedGeneration != cr.Generation {
				return fmt.Errorf("%d replicas", *d.Spec.Replicas)
			}
			return conditionIs(cr, v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
		})
	}
	replicas(3) // what it had is within the bounds
	scale(4)
	f.runPass(2)
	replicas(4)
	scale(9)
	replicas(5)
	scale(1)
	replicas(2)
}
