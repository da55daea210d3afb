// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// lists parses the optional comma-separated values. A value that is there and says nothing is a mistake in the making of
// the registration: read as "all" it would widen what the author meant to limit.
func (a *admission) lists(data registrationData) *Refusal {
	var refusal *Refusal
	a.out.Namespaces, refusal = namespaceList(v1alpha1.RegistrationKeyNamespaces, data.Namespaces, "")
	if refusal != nil {
		return refusal
	}
	a.out.AllowedNamespaces, refusal = namespaceList(v1alpha1.RegistrationKeyAllowedNamespaces, data.AllowedNamespaces, AllNamespaces)
	if refusal != nil {
		return refusal
	}
	if data.APIServerCIDRs == nil {
		return nil
	}
	for _, entry := range strings.Split(*data.APIServerCIDRs, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(entry))
		if err != nil {
			return invalid(v1alpha1.RegistrationKeyAPIServerCIDRs, "is no comma-separated list of networks such as 192.0.2.0/24")
		}
		a.out.APIServerCIDRs = append(a.out.APIServerCIDRs, prefix.Masked())
	}
	return nil
}

// namespaceList answers the sorted entries of value, nil if the key is absent.
func namespaceList(key string, value *string, wildcard string) ([]string, *Refusal) {
	if value == nil {
		return nil, nil
	}
	if strings.TrimSpace(*value) == "" {
		return nil, &Refusal{v1alpha1.ReasonNamespacesInvalid, key, "is empty; remove the key or list namespaces"}
	}
	var out []string
	for _, entry := range strings.Split(*value, ",") {
		entry = strings.TrimSpace(entry)
		if len(validation.IsDNS1123Label(entry)) > 0 && (wildcard == "" || entry != wildcard) {
			return nil, &Refusal{v1alpha1.ReasonNamespacesInvalid, key, "is no comma-separated list of namespace names"}
		}
		out = append(out, entry)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// isLocalHost tells whether a host, by name or address, is on this machine or its link. What a name resolves to is
// checked again when it is dialled.
func isLocalHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return isLocalAddr(addr)
	}
	// Resolvers take "127.1" and "2130706433" for addresses too.
	return host != "" && strings.Trim(host, "0123456789abcdefx.") == "" && net.ParseIP(host) == nil && numeric(host)
}

// numeric tells whether every label is a number as inet_aton reads it: decimal, octal or hexadecimal.
func numeric(host string) bool {
	for _, label := range strings.Split(host, ".") {
		digits, hex := strings.CutPrefix(label, "0x")
		allowed := "0123456789"
		if hex {
			allowed += "abcdef"
		}
		if strings.Trim(digits, allowed) != "" || (digits == "" && !hex) {
			return false
		}
	}
	return true
}

func isLocalAddr(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsLinkLocalMulticast() || addr.IsInterfaceLocalMulticast() || addr.IsUnspecified()
}
