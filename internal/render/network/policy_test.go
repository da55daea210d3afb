// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/network"
	"c5c3.io/cinder-operator/internal/render/rendertest"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// guarded gives a Cinder a policy that admits one namespace.
func guarded(c *v1alpha1.Cinder) *v1alpha1.Cinder {
	c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{
		Ingress: []v1alpha1.NetworkPolicyIngressSource{{
			NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "clients"}},
			PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "horizon"}},
		}},
	}
	return c
}

func full() (*v1alpha1.Cinder, render.Facts, network.Peers) {
	c := guarded(rendertest.FullCinder())
	c.Spec.Database.Port = ptr.To[int32](3307)
	c.Spec.Gateway = &v1alpha1.GatewaySpec{
		ParentRef: v1alpha1.GatewayParentRefSpec{Name: "public", Namespace: "gateways", SectionName: "https"},
		Hostname:  "volume.example.org", Path: "/volume", Annotations: map[string]string{"a": "b"},
	}
	c.Spec.NetworkPolicy.AdditionalEgress = []networkingv1.NetworkPolicyEgressRule{{
		Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(8774))}},
	}}
	f := rendertest.Facts()
	f.BrokerPort, f.BrokerPorts = 5673, []int32{5673, 5672}
	f.Backends = []render.Backend{
		render.NewBackend(rendertest.RBDBackend("rbd-a"), "s", "k"),
		render.NewBackend(rendertest.NFSBackend("nfs-a"), "s", ""),
		render.NewBackend(rendertest.NFSBackend("nfs-b"), "s", ""),
	}
	f.Backup = render.NewBackupTarget(rendertest.RBDBackup("t"), "s", "k")
	return c, f, network.Peers{APIServerCIDRs: []string{"10.1.0.2/32", "10.1.0.1/32", "10.1.0.2/32"}}
}

func policy(t *testing.T, c *v1alpha1.Cinder, f render.Facts, peers network.Peers) *networkingv1.NetworkPolicy {
	t.Helper()
	p, err := network.Policy(c, f, peers)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPolicies(t *testing.T) {
	for name, build := range map[string]func() (*v1alpha1.Cinder, render.Facts, network.Peers){
		"plain": func() (*v1alpha1.Cinder, render.Facts, network.Peers) {
			return guarded(rendertest.Cinder()), rendertest.Facts(), network.Peers{OperatorNamespace: "c5c3-system"}
		},
		"full": full,
	} {
		t.Run(name, func(t *testing.T) {
			render := func() string {
				c, f, peers := build()
				return rendertest.YAML(t, policy(t, c, f, peers))
			}
			rendertest.Golden(t, "policy-"+name+".yaml", render())
			rendertest.Stable(t, render)
		})
	}
}

// short writes egress rules as "TCP 53" lists.
func short(rules []networkingv1.NetworkPolicyEgressRule) []string {
	var out []string
	for _, rule := range rules {
		var parts []string
		for _, peer := range rule.To {
			parts = append(parts, peer.IPBlock.CIDR)
		}
		for _, port := range rule.Ports {
			text := fmt.Sprintf("%s %s", *port.Protocol, port.Port)
			if port.EndPort != nil {
				text += fmt.Sprintf("-%d", *port.EndPort)
			}
			parts = append(parts, text)
		}
		out = append(out, strings.Join(parts, ", "))
	}
	return out
}

func TestEgressRulesComeInTheirOrder(t *testing.T) {
	c, f, peers := full()
	want := []string{
		"UDP 53, TCP 53", "TCP 3307", "TCP 11211, TCP 11212", "TCP 5672, TCP 5673",
		"TCP 5000", "TCP 9292", "TCP 9311", "TCP 2049",
		"10.244.0.0/16, 10.96.0.0/12, TCP 3300, TCP 6789, TCP 6800-7300", "TCP 8774",
	}
	if got := short(policy(t, c, f, peers).Spec.Egress); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	plain := guarded(rendertest.Cinder())
	want = []string{"UDP 53, TCP 53", "TCP 3306", "TCP 11211", "TCP 5672"}
	if got := short(policy(t, plain, rendertest.Facts(), peers).Spec.Egress); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEndpointsWithoutAPortAreReachedAtTheirSchemes(t *testing.T) {
	c := guarded(rendertest.KeystoneCinder())
	c.Spec.KeystoneEndpoint, c.Spec.GlanceEndpoint = "https://keystone.example.org/v3", "http://[fd00::1]"
	got := short(policy(t, c, rendertest.Facts(), network.Peers{}).Spec.Egress)
	if got[4] != "TCP 443" || got[5] != "TCP 80" {
		t.Errorf("got %q", got)
	}
}

func TestAPolicyWithoutIngressIsRefused(t *testing.T) {
	c := rendertest.Cinder()
	c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{}
	if p, err := network.Policy(c, rendertest.Facts(), network.Peers{OperatorNamespace: "x"}); !errors.Is(err, network.ErrNoIngress) || p != nil {
		t.Errorf("got %v, %v", p, err)
	}
	c.Spec.NetworkPolicy = nil
	if p, err := network.Policy(c, rendertest.Facts(), network.Peers{}); p != nil || err != nil {
		t.Errorf("without a policy: %v, %v", p, err)
	}
}

func TestAPortOrNetworkThatCannotBeToldIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.CinderSpec, *network.Peers)
		says   string
	}{
		"endpoint": {func(s *v1alpha1.CinderSpec, _ *network.Peers) { s.GlanceEndpoint = "http://" }, "spec.glanceEndpoint"},
		"port":     {func(s *v1alpha1.CinderSpec, _ *network.Peers) { s.KeystoneEndpoint = "http://k:99999" }, "spec.keystoneEndpoint"},
		"cache":    {func(s *v1alpha1.CinderSpec, _ *network.Peers) { s.Cache = v1alpha1.CacheSpec{Servers: []string{"a:b"}} }, "spec.cache.servers"},
		"network":  {func(_ *v1alpha1.CinderSpec, p *network.Peers) { p.APIServerCIDRs = []string{"10.0.0.1"} }, "10.0.0.1"},
	} {
		cinder, peers := guarded(rendertest.KeystoneCinder()), network.Peers{}
		c.change(&cinder.Spec, &peers)
		if p, err := network.Policy(cinder, rendertest.Facts(), peers); err == nil || p != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

func TestThePolicySelectsEveryPodAndOpensOnePort(t *testing.T) {
	c, f, peers := full()
	p := policy(t, c, f, peers)
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	for name, podLabels := range map[string]map[string]string{
		"API": workload.API(c, f).Spec.Template.Labels, "Job": workload.DBSync(c, f).Spec.Template.Labels,
		"volume service": workload.Volume(c, f, f.Backends[0]).Spec.Template.Labels,
	} {
		if !selector.Matches(labels.Set(podLabels)) {
			t.Errorf("the %s is left open", name)
		}
	}
	if len(p.Spec.PolicyTypes) != 2 || len(p.Spec.Ingress) != 1 || len(p.Spec.Ingress[0].Ports) != 1 ||
		p.Spec.Ingress[0].Ports[0].Port.IntValue() != 8776 {
		t.Errorf("got %+v", p.Spec)
	}
	var from []string
	for _, peer := range p.Spec.Ingress[0].From {
		switch {
		case peer.IPBlock != nil:
			from = append(from, peer.IPBlock.CIDR)
		default:
			from = append(from, peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
		}
	}
	if want := []string{"clients", "gateways", "10.1.0.1/32", "10.1.0.2/32"}; !reflect.DeepEqual(from, want) {
		t.Errorf("ingress from %v, want %v", from, want)
	}
}

func TestASourceWithoutPodSelectorAdmitsTheWholeNamespace(t *testing.T) {
	c := guarded(rendertest.Cinder())
	c.Spec.NetworkPolicy.Ingress[0].PodSelector = nil
	from := policy(t, c, rendertest.Facts(), network.Peers{OperatorNamespace: "c5c3-system"}).Spec.Ingress[0].From
	if len(from) != 2 || from[0].PodSelector != nil || from[1].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "c5c3-system" {
		t.Errorf("got %+v", from)
	}
}
