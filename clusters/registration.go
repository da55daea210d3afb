// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Registration is an admitted registration: everything that may reach a client, and nothing else.
type Registration struct {
	// Server is the API server's address: https, without user information.
	Server *url.URL
	// ServerName is what the server's certificate is checked against, if not Server's host.
	ServerName string
	// CA is the PEM bundle the server is verified by; the system's when empty.
	CA []byte
	// Insecure says that the server's certificate is not verified.
	Insecure bool
	// Proxy is the address of a proxy, or nil.
	Proxy *url.URL
	// Cert and Key are the client's PEM certificate pair, or empty.
	Cert, Key []byte
	// Token is the bearer token, or empty.
	Token string
	// Namespaces are those on the target that everything is limited to, sorted; none means all.
	Namespaces []string
	// AllowedNamespaces are the hub's namespaces that may use the cluster, sorted; nil means that the registration does
	// not say, and "*" is all.
	AllowedNamespaces []string
	// APIServerCIDRs are the networks that the target's API servers reach pods from, if the registration says so.
	APIServerCIDRs []netip.Prefix
}

// AllNamespaces is the entry of AllowedNamespaces that admits every namespace of the hub.
const AllNamespaces = "*"

// Allows tells whether resources in the hub's namespace may use the cluster.
func (r *Registration) Allows(hubNamespace string, requireList bool) bool {
	if r.AllowedNamespaces == nil {
		return !requireList
	}
	return slices.Contains(r.AllowedNamespaces, AllNamespaces) || slices.Contains(r.AllowedNamespaces, hubNamespace)
}

// Covers tells whether the namespace of the target is one that the registration lists, or whether it lists none.
func (r *Registration) Covers(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// limitedTo are the namespaces that an operator which looks at one namespace alone, if any, looks at here. Limited to none
// it has nothing to do here; not limited it looks at all.
func (r *Registration) limitedTo(only string) (namespaces []string, limited bool) {
	switch {
	case only == "":
		return r.Namespaces, len(r.Namespaces) > 0
	case r.Covers(only):
		return []string{only}, true
	}
	return nil, true
}

// Host is the server's scheme, host and port: what may be shown.
func (r *Registration) Host() string {
	return r.Server.Scheme + "://" + r.Server.Host
}

// sameConnection tells whether a connection made for r serves o as well, apart from its token.
func (r *Registration) sameConnection(o *Registration) bool {
	return r.Server.String() == o.Server.String() &&
		r.ServerName == o.ServerName &&
		bytes.Equal(r.CA, o.CA) &&
		r.Insecure == o.Insecure &&
		proxyString(r.Proxy) == proxyString(o.Proxy) &&
		bytes.Equal(r.Cert, o.Cert) &&
		bytes.Equal(r.Key, o.Key) &&
		(r.Token == "") == (o.Token == "") &&
		slices.Equal(r.Namespaces, o.Namespaces) &&
		slices.Equal(r.APIServerCIDRs, o.APIServerCIDRs)
}

// sameAdmittance tells whether r and o let the same custom resources use the cluster.
func (r *Registration) sameAdmittance(o *Registration) bool {
	return (r.AllowedNamespaces == nil) == (o.AllowedNamespaces == nil) &&
		slices.Equal(r.AllowedNamespaces, o.AllowedNamespaces)
}

func proxyString(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.String()
}

// Refusal says why a registration is not admitted.
type Refusal struct {
	// Reason is one of the reasons of the condition Accepted.
	Reason string
	// Field is where the fault is: a key of the registration, or a path into its kubeconfig. Never a value.
	Field string
	// Message says what is wrong with the field, without its value.
	Message string
}

func (r *Refusal) String() string {
	return r.Reason + ": " + r.detail()
}

func (r *Refusal) detail() string {
	return strings.TrimSpace(r.Field + " " + r.Message)
}
