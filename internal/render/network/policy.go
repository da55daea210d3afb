// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// ErrNoIngress refuses a policy without ingress sources: an empty list would
// admit nobody, and a reader may take it for everybody.
var ErrNoIngress = errors.New("spec.networkPolicy.ingress is empty: at least one ingress source must be specified")

const (
	dnsPort  int32 = 53
	nfsPort  int32 = 2049
	memcache int32 = 11211
)

// Peers are the sources that a policy admits beside those of the spec.
type Peers struct {
	// OperatorNamespace is the namespace the operator probes the API from. It
	// is empty for children on a target cluster.
	OperatorNamespace string
	// APIServerCIDRs are the addresses of the target's own API servers, from
	// which the health probe comes there.
	APIServerCIDRs []string
}

// Policy renders the NetworkPolicy of all pods of a Cinder, Job pods included,
// or nil without spec.networkPolicy. The order of the egress rules is fixed:
// DNS, database, memcached, broker, Keystone, Glance, Barbican, NFS, Ceph, then
// the spec's own. The error is ErrNoIngress or names the field whose port or
// network cannot be told.
func Policy(c *v1alpha1.Cinder, f render.Facts, peers Peers) (*networkingv1.NetworkPolicy, error) {
	spec := c.Spec.NetworkPolicy
	if spec == nil {
		return nil, nil
	}
	if len(spec.Ingress) == 0 {
		return nil, ErrNoIngress
	}
	ingress, err := ingressRules(c, peers)
	if err != nil {
		return nil, err
	}
	egress, err := egressRules(c, f)
	if err != nil {
		return nil, err
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Name, Namespace: c.Namespace, Labels: render.CommonLabels(c.Name),
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: render.InstanceLabels(c.Name)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     ingress,
			Egress:      egress,
		},
	}, nil
}

func ingressRules(c *v1alpha1.Cinder, peers Peers) ([]networkingv1.NetworkPolicyIngressRule, error) {
	var from []networkingv1.NetworkPolicyPeer
	for _, source := range c.Spec.NetworkPolicy.Ingress {
		from = append(from, networkingv1.NetworkPolicyPeer{
			NamespaceSelector: source.NamespaceSelector.DeepCopy(),
			PodSelector:       source.PodSelector.DeepCopy(),
		})
	}
	namespaces := []string{peers.OperatorNamespace}
	if c.Spec.Gateway != nil {
		gateway := c.Spec.Gateway.ParentRef.Namespace
		if gateway == "" {
			gateway = c.Namespace
		}
		namespaces = append(namespaces, gateway)
	}
	for i, namespace := range namespaces {
		if namespace == "" || slices.Contains(namespaces[:i], namespace) {
			continue
		}
		from = append(from, networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
		}})
	}
	cidrs := slices.Clone(peers.APIServerCIDRs)
	slices.Sort(cidrs)
	for _, cidr := range slices.Compact(cidrs) {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			return nil, fmt.Errorf("the API server network %q is no CIDR", cidr)
		}
		from = append(from, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}})
	}
	return []networkingv1.NetworkPolicyIngressRule{{From: from, Ports: tcp(render.APIPort)}}, nil
}

func egressRules(c *v1alpha1.Cinder, f render.Facts) ([]networkingv1.NetworkPolicyEgressRule, error) {
	rules := []networkingv1.NetworkPolicyEgressRule{
		{Ports: append(ports(corev1.ProtocolUDP, dnsPort), tcp(dnsPort)...)},
		{Ports: tcp(c.Spec.Database.EffectivePort())},
	}
	cache, err := cachePorts(c)
	if err != nil {
		return nil, err
	}
	rules = append(rules,
		networkingv1.NetworkPolicyEgressRule{Ports: tcp(cache...)},
		networkingv1.NetworkPolicyEgressRule{Ports: tcp(f.EffectiveBrokerPorts()...)})

	endpoints := []struct{ field, url string }{
		{"spec.keystoneEndpoint", c.Spec.KeystoneEndpoint},
		{"spec.glanceEndpoint", c.Spec.GlanceEndpoint},
	}
	if c.Spec.KeyManager != nil && c.Spec.KeyManager.Barbican != nil {
		endpoints = append(endpoints, struct{ field, url string }{
			"spec.keyManager.barbican.endpoint", c.Spec.KeyManager.Barbican.Endpoint,
		})
	}
	for _, endpoint := range endpoints {
		if endpoint.url == "" {
			continue
		}
		port, err := endpointPort(endpoint.url)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", endpoint.field, err)
		}
		rules = append(rules, networkingv1.NetworkPolicyEgressRule{Ports: tcp(port)})
	}

	nfs, networks := storage(f)
	if nfs {
		rules = append(rules, networkingv1.NetworkPolicyEgressRule{Ports: tcp(nfsPort)})
	}
	if len(networks) > 0 {
		rules = append(rules, ceph(networks))
	}
	for _, extra := range c.Spec.NetworkPolicy.AdditionalEgress {
		rules = append(rules, *extra.DeepCopy())
	}
	return rules, nil
}

// storage tells whether an NFS export is in use, and unites the networks of
// the RBD backends and the backup target, sorted.
func storage(f render.Facts) (nfs bool, networks []string) {
	add := func(list []v1alpha1.IPv4CIDR) {
		for _, network := range list {
			networks = append(networks, string(network))
		}
	}
	for _, backend := range f.Backends {
		nfs = nfs || backend.NFS != nil
		if backend.RBD != nil {
			add(backend.RBD.Networks)
		}
	}
	if f.Backup != nil {
		nfs = nfs || f.Backup.NFS != nil
		if f.Backup.RBD != nil {
			add(f.Backup.RBD.Networks)
		}
	}
	slices.Sort(networks)
	return nfs, slices.Compact(networks)
}

// ceph opens the monitors' two ports and the range of the OSDs.
func ceph(networks []string) networkingv1.NetworkPolicyEgressRule {
	rule := networkingv1.NetworkPolicyEgressRule{Ports: tcp(3300, 6789, 6800)}
	rule.Ports[len(rule.Ports)-1].EndPort = ptr.To[int32](7300)
	for _, network := range networks {
		rule.To = append(rule.To, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: network}})
	}
	return rule
}

// cachePorts are the servers' ports, sorted. A server without one is reached at
// memcached's own.
func cachePorts(c *v1alpha1.Cinder) ([]int32, error) {
	var list []int32
	for _, server := range c.Spec.Cache.EffectiveServers() {
		port := memcache
		if _, text, err := net.SplitHostPort(server); err == nil {
			if port, err = parsePort(text); err != nil {
				return nil, fmt.Errorf("spec.cache.servers: %w", err)
			}
		}
		list = append(list, port)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func endpointPort(raw string) (int32, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return 0, errors.New("the URL does not parse or has no host")
	}
	if text := u.Port(); text != "" {
		return parsePort(text)
	}
	if u.Scheme == "https" {
		return 443, nil
	}
	return 80, nil
}

func parsePort(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no port from 1 to 65535", text)
	}
	return int32(n), nil
}

func tcp(numbers ...int32) []networkingv1.NetworkPolicyPort {
	return ports(corev1.ProtocolTCP, numbers...)
}

func ports(protocol corev1.Protocol, numbers ...int32) []networkingv1.NetworkPolicyPort {
	var list []networkingv1.NetworkPolicyPort
	for _, number := range numbers {
		list = append(list, networkingv1.NetworkPolicyPort{
			Protocol: ptr.To(protocol), Port: ptr.To(intstr.FromInt32(number)),
		})
	}
	return list
}
