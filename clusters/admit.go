// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// kubeconfigLimit is the size over which a kubeconfig is not parsed.
const kubeconfigLimit = 1 << 20

// registrationData is what a source found: the bytes before anybody has looked at them. A nil pointer or slice means that
// the key is absent.
type registrationData struct {
	Kubeconfig []byte
	// Missing says, for the message of the refusal, why there is no kubeconfig.
	Missing           string
	Namespaces        *string
	AllowedNamespaces *string
	APIServerCIDRs    *string
}

type admitOptions struct {
	AllowInsecure bool
	AllowLocal    bool
}

// admit turns a registration into what a client may be made of, by an allow-list over the parsed document: a key that is
// not known to be harmless refuses it. A kubeconfig can name programs to run and files to read, and client-go would do
// both, in the operator's pod.
func admit(data registrationData, opts admitOptions) (*Registration, *Refusal) {
	if len(data.Kubeconfig) == 0 {
		return nil, &Refusal{v1alpha1.ReasonKubeconfigMissing, v1alpha1.RegistrationKeyKubeconfig, cmp.Or(data.Missing, "is missing or empty")}
	}
	if len(data.Kubeconfig) > kubeconfigLimit {
		return nil, &Refusal{v1alpha1.ReasonKubeconfigInvalid, v1alpha1.RegistrationKeyKubeconfig, "is larger than 1 MiB"}
	}
	doc := map[string]any{}
	// The parser's error may quote the document, and with it a credential.
	if err := yaml.UnmarshalStrict(data.Kubeconfig, &doc); err != nil {
		return nil, &Refusal{v1alpha1.ReasonKubeconfigInvalid, v1alpha1.RegistrationKeyKubeconfig, "is no well-formed YAML document"}
	}
	a := &admission{opts: opts, out: &Registration{}}
	for _, step := range []func() *Refusal{
		func() *Refusal { return a.document(doc) },
		a.complete,
		func() *Refusal { return a.lists(data) },
	} {
		if refusal := step(); refusal != nil {
			return nil, refusal
		}
	}
	return a.out, nil
}

type admission struct {
	opts admitOptions
	out  *Registration
}

func invalid(field, message string) *Refusal {
	return &Refusal{v1alpha1.ReasonKubeconfigInvalid, field, message}
}

func insecure(field, message string) *Refusal {
	return &Refusal{v1alpha1.ReasonInsecureKubeconfig, field, message}
}

// document finds the cluster and the user of the current context; what else the document holds is never looked at.
func (a *admission) document(doc map[string]any) *Refusal {
	current, ok := doc["current-context"].(string)
	if !ok || current == "" {
		return invalid("current-context", "is not set")
	}
	context, at, refusal := named(doc, "contexts", "context", current, "current-context names no context of the document")
	if refusal != nil {
		return refusal
	}
	var refs [2]string
	for i, key := range []string{"cluster", "user"} {
		name, ok := context[key].(string)
		if !ok || name == "" {
			return invalid(at+"."+key, "is not set")
		}
		refs[i] = name
	}
	cluster, at, refusal := named(doc, "clusters", "cluster", refs[0], "has no entry for the cluster of the current context")
	if refusal != nil {
		return refusal
	}
	if refusal := walk(cluster, at, a.clusterField); refusal != nil {
		return refusal
	}
	user, at, refusal := named(doc, "users", "user", refs[1], "has no entry for the user of the current context")
	if refusal != nil {
		return refusal
	}
	return walk(user, at, a.userField)
}

// named finds the entry of a list of the document by its name.
func named(doc map[string]any, list, key, name, absent string) (map[string]any, string, *Refusal) {
	entries, _ := doc[list].([]any)
	var found map[string]any
	at := ""
	for i, entry := range entries {
		fields, ok := entry.(map[string]any)
		if !ok || fields["name"] != name {
			continue
		}
		if found != nil {
			return nil, "", invalid(list, "has two entries of the same name")
		}
		at = fmt.Sprintf("%s[%d].%s", list, i, key)
		if found, ok = fields[key].(map[string]any); !ok {
			return nil, "", invalid(at, "is missing or no mapping")
		}
	}
	if found == nil {
		return nil, "", invalid(list, absent)
	}
	return found, at, nil
}

// walk hands every key that says something to f, in a fixed order, so that the same document is always refused for the
// same field.
func walk(fields map[string]any, at string, f func(key, field string, value any) *Refusal) *Refusal {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if unset(fields[key]) {
			continue
		}
		field := at + "." + key
		if len(validation.IsConfigMapKey(key)) > 0 {
			field = at // whatever was written here was not meant to be a key
		}
		if refusal := f(key, field, fields[key]); refusal != nil {
			return refusal
		}
	}
	return nil
}

func unset(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func (a *admission) clusterField(key, field string, value any) *Refusal {
	switch key {
	case "server":
		return a.server(field, value)
	case "proxy-url":
		return a.proxy(field, value)
	case "tls-server-name":
		return text(field, value, &a.out.ServerName)
	case "certificate-authority-data":
		return decoded(field, value, &a.out.CA)
	case "insecure-skip-tls-verify":
		if value != true {
			return invalid(field, "is no boolean")
		}
		if !a.opts.AllowInsecure {
			return insecure(field, "is refused: the server has to be verified; give its CA in certificate-authority-data")
		}
		a.out.Insecure = true
		return nil
	case "certificate-authority":
		return fileReference(field, "certificate-authority-data")
	}
	return unknown(field)
}

func (a *admission) userField(key, field string, value any) *Refusal {
	switch key {
	case "token":
		return text(field, value, &a.out.Token)
	case "client-certificate-data":
		return decoded(field, value, &a.out.Cert)
	case "client-key-data":
		return decoded(field, value, &a.out.Key)
	case "exec", "auth-provider":
		return &Refusal{v1alpha1.ReasonCredentialPluginRefused, field, "is refused: it would run a program in the operator's pod; use a token or a client certificate"}
	case "tokenFile":
		return fileReference(field, "token")
	case "client-certificate":
		return fileReference(field, "client-certificate-data")
	case "client-key":
		return fileReference(field, "client-key-data")
	case "username", "password":
		return insecure(field, "is refused: basic authentication is not supported; use a token or a client certificate")
	case "as", "as-uid", "as-groups", "as-user-extra":
		return invalid(field, "is refused: impersonation is not supported; register the account itself")
	}
	return unknown(field)
}

func unknown(field string) *Refusal {
	return invalid(field, "is not supported in a registration; remove it")
}

func fileReference(field, instead string) *Refusal {
	return &Refusal{v1alpha1.ReasonFileReferenceRefused, field, "is refused: it would read a file of the operator's pod; give the content in " + instead}
}

func text(field string, value any, to *string) *Refusal {
	s, ok := value.(string)
	if !ok {
		return invalid(field, "is no string")
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return invalid(field, "contains a control character")
	}
	*to = s
	return nil
}

func decoded(field string, value any, to *[]byte) *Refusal {
	s, ok := value.(string)
	if !ok {
		return invalid(field, "is no string")
	}
	// Encoders wrap lines; a PEM block that was pasted as it is decodes to nothing.
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		return invalid(field, "is not base64")
	}
	*to = raw
	return nil
}

func (a *admission) server(field string, value any) *Refusal {
	u, refusal := address(field, value)
	if refusal != nil {
		return refusal
	}
	switch {
	case u.Scheme == "http":
		return insecure(field, "is refused: plain http would send the credential in the clear; use https")
	case u.Scheme != "https":
		return invalid(field, "is no https address")
	case u.User != nil:
		return insecure(field, "is refused: it carries user information; use a token or a client certificate")
	case u.RawQuery != "" || u.Fragment != "":
		return invalid(field, "carries a query or a fragment")
	}
	if refusal := a.local(field, u); refusal != nil {
		return refusal
	}
	a.out.Server = u
	return nil
}

func (a *admission) proxy(field string, value any) *Refusal {
	u, refusal := address(field, value)
	if refusal != nil {
		return refusal
	}
	if !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return invalid(field, "is no http, https or socks5 address")
	}
	if refusal := a.local(field, u); refusal != nil {
		return refusal
	}
	a.out.Proxy = u
	return nil
}

func address(field string, value any) (*url.URL, *Refusal) {
	s, ok := value.(string)
	if !ok {
		return nil, invalid(field, "is no string")
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "" {
		return nil, invalid(field, "is no address with scheme and host")
	}
	return u, nil
}

func (a *admission) local(field string, u *url.URL) *Refusal {
	if a.opts.AllowLocal || !isLocalHost(u.Hostname()) {
		return nil
	}
	return &Refusal{v1alpha1.ReasonLocalAddressRefused, field, "is refused: its host is a loopback or link-local address, which is the operator's own pod or node"}
}

// complete checks what no single field can be checked for.
func (a *admission) complete() *Refusal {
	r := a.out
	switch {
	case r.Server == nil:
		return invalid("clusters[].cluster.server", "is not set")
	case len(r.Cert) > 0 && len(r.Key) == 0:
		return invalid("users[].user.client-key-data", "is not set, but client-certificate-data is")
	case len(r.Key) > 0 && len(r.Cert) == 0:
		return invalid("users[].user.client-certificate-data", "is not set, but client-key-data is")
	case r.Token == "" && len(r.Cert) == 0:
		return invalid("users[].user", "has neither a token nor a client certificate")
	}
	if len(r.Cert) > 0 {
		if _, err := tls.X509KeyPair(r.Cert, r.Key); err != nil {
			return invalid("users[].user.client-certificate-data", "and client-key-data are no PEM certificate pair")
		}
	}
	if len(r.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(r.CA) {
		return invalid("clusters[].cluster.certificate-authority-data", "holds no PEM certificate")
	}
	if r.Insecure {
		r.CA = nil
	}
	return nil
}
