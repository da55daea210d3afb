// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const secretValue = "hunter2"

func encode(s []byte) string { return base64.StdEncoding.EncodeToString(s) }

type fields = map[string]any

// document is a kubeconfig with one context; the maps are merged over a cluster and a user that are admitted.
func document(t *testing.T, cluster, user fields) []byte {
	t.Helper()
	c := fields{"server": "https://api.example.org:6443", "certificate-authority-data": encode(testCA(t).certPEM)}
	u := fields{"token": secretValue}
	for k, v := range cluster {
		c[k] = v
	}
	for k, v := range user {
		u[k] = v
	}
	return marshal(t, fields{
		"apiVersion": "v1", "kind": "Config", "current-context": "main", "preferences": fields{},
		"contexts": []any{fields{"name": "main", "context": fields{"cluster": "c", "user": "u", "namespace": "default"}}},
		"clusters": []any{fields{"name": "c", "cluster": c}},
		"users":    []any{fields{"name": "u", "user": u}},
	})
}

func marshal(t *testing.T, doc any) []byte {
	t.Helper()
	out, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAdmitRefuses(t *testing.T) {
	cert := testCA(t).issue(t, "client")
	tests := []struct {
		name          string
		cluster, user fields
		raw           []byte
		data          func(*registrationData)
		reason        string
		field         string
	}{
		{name: "no kubeconfig", data: func(d *registrationData) { d.Kubeconfig = nil }, reason: v1alpha1.ReasonKubeconfigMissing, field: "kubeconfig"},
		{name: "an empty kubeconfig", data: func(d *registrationData) { d.Kubeconfig = []byte{} }, reason: v1alpha1.ReasonKubeconfigMissing, field: "kubeconfig"},
		{name: "a document over 1 MiB", raw: []byte(strings.Repeat("#", kubeconfigLimit+1)), reason: v1alpha1.ReasonKubeconfigInvalid, field: "kubeconfig"},
		{name: "no YAML", raw: []byte("hunter2: [unclosed"), reason: v1alpha1.ReasonKubeconfigInvalid, field: "kubeconfig"},
		{name: "a scalar", raw: []byte(secretValue), reason: v1alpha1.ReasonKubeconfigInvalid, field: "kubeconfig"},
		{name: "a key given twice", raw: []byte("kind: Config\nkind: Config\n"), reason: v1alpha1.ReasonKubeconfigInvalid, field: "kubeconfig"},
		{name: "no current context", raw: []byte("kind: Config\n"), reason: v1alpha1.ReasonKubeconfigInvalid, field: "current-context"},
		{name: "a current context that does not exist", raw: []byte("current-context: hunter2\n"), reason: v1alpha1.ReasonKubeconfigInvalid, field: "contexts"},
		{
			name:   "a context without cluster",
			raw:    []byte("current-context: a\ncontexts: [{name: a, context: {user: u}}]\n"),
			reason: v1alpha1.ReasonKubeconfigInvalid, field: "contexts[0].context.cluster",
		},
		{
			name:   "a context without user",
			raw:    []byte("current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"),
			reason: v1alpha1.ReasonKubeconfigInvalid, field: "contexts[0].context.user",
		},
		{
			name:   "a cluster that does not exist",
			raw:    []byte("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"),
			reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters",
		},
		{
			name:   "two clusters of one name",
			raw:    []byte("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://a.example.org'}}, {name: c, cluster: {server: 'https://b.example.org'}}]\n"),
			reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters",
		},
		{
			name:   "a user that does not exist",
			raw:    []byte("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://a.example.org'}}]\n"),
			reason: v1alpha1.ReasonKubeconfigInvalid, field: "users",
		},

		{name: "exec", user: fields{"exec": fields{"command": secretValue}}, reason: v1alpha1.ReasonCredentialPluginRefused, field: "users[0].user.exec"},
		{name: "auth-provider", user: fields{"auth-provider": fields{"name": secretValue}}, reason: v1alpha1.ReasonCredentialPluginRefused, field: "users[0].user.auth-provider"},
		{name: "tokenFile", user: fields{"tokenFile": "/hunter2"}, reason: v1alpha1.ReasonFileReferenceRefused, field: "users[0].user.tokenFile"},
		{name: "client-certificate", user: fields{"client-certificate": "/hunter2"}, reason: v1alpha1.ReasonFileReferenceRefused, field: "users[0].user.client-certificate"},
		{name: "client-key", user: fields{"client-key": "/hunter2"}, reason: v1alpha1.ReasonFileReferenceRefused, field: "users[0].user.client-key"},
		{name: "certificate-authority", cluster: fields{"certificate-authority": "/hunter2"}, reason: v1alpha1.ReasonFileReferenceRefused, field: "clusters[0].cluster.certificate-authority"},
		{name: "username", user: fields{"username": secretValue}, reason: v1alpha1.ReasonInsecureKubeconfig, field: "users[0].user.username"},
		{name: "password", user: fields{"password": secretValue}, reason: v1alpha1.ReasonInsecureKubeconfig, field: "users[0].user.password"},
		{name: "as", user: fields{"as": secretValue}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[0].user.as"},
		{name: "as-uid", user: fields{"as-uid": secretValue}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[0].user.as-uid"},
		{name: "as-groups", user: fields{"as-groups": []any{secretValue}}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[0].user.as-groups"},
		{name: "as-user-extra", user: fields{"as-user-extra": fields{"a": []any{secretValue}}}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[0].user.as-user-extra"},
		{name: "an unknown field of the user", user: fields{"future-credential": secretValue}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[0].user.future-credential"},
		{name: "an unknown field of the cluster", cluster: fields{"disable-compression": true}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[0].cluster.disable-compression"},
		{name: "a value where a key belongs", user: fields{"token hunter2": true}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[0].user"},

		{name: "no server", cluster: fields{"server": ""}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[].cluster.server"},
		{name: "a server that is no address", cluster: fields{"server": "https://%zz"}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[0].cluster.server"},
		{name: "a server without a scheme", cluster: fields{"server": "api.example.org:6443"}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[0].cluster.server"},
		{name: "a server of another scheme", cluster: fields{"server": "ftp://api.example.org"}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[0].cluster.server"},
		{name: "a server with a query", cluster: fields{"server": "https://api.example.org/?token=hunter2"}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[0].cluster.server"},
		{name: "plain http", cluster: fields{"server": "http://api.example.org"}, reason: v1alpha1.ReasonInsecureKubeconfig, field: "clusters[0].cluster.server"},
		{name: "user information in the server", cluster: fields{"server": "https://me:hunter2@api.example.org"}, reason: v1alpha1.ReasonInsecureKubeconfig, field: "clusters[0].cluster.server"},
		{name: "unverified TLS", cluster: fields{"insecure-skip-tls-verify": true}, reason: v1alpha1.ReasonInsecureKubeconfig, field: "clusters[0].cluster.insecure-skip-tls-verify"},
		{name: "an insecure-skip-tls-verify that is no boolean", cluster: fields{"insecure-skip-tls-verify": "hunter2"}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[0].cluster.insecure-skip-tls-verify"},
		{name: "a CA that is not base64", cluster: fields{"certificate-authority-data": "hunter2!"}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[0].cluster.certificate-authority-data"},
		{name: "a CA that is no certificate", cluster: fields{"certificate-authority-data": encode([]byte(secretValue))}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[].cluster.certificate-authority-data"},
		{name: "a proxy of another scheme", cluster: fields{"proxy-url": "ftp://hunter2.example.org"}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "clusters[0].cluster.proxy-url"},
		{name: "no credential", user: fields{"token": ""}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[].user"},
		{name: "a token that is no string", user: fields{"token": 12}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[0].user.token"},
		{name: "a token with a line break", user: fields{"token": "hunter2\nX-Header: a"}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[0].user.token"},
		{name: "a certificate without key", user: fields{"token": "", "client-certificate-data": encode(cert.certPEM)}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[].user.client-key-data"},
		{name: "a key without certificate", user: fields{"token": "", "client-key-data": encode(cert.keyPEM)}, reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[].user.client-certificate-data"},
		{
			name:   "a certificate with another key",
			user:   fields{"client-certificate-data": encode(cert.certPEM), "client-key-data": encode(testCA(t).issue(t, "other").keyPEM)},
			reason: v1alpha1.ReasonKubeconfigInvalid, field: "users[].user.client-certificate-data",
		},

		{name: "an empty list of namespaces", data: func(d *registrationData) { d.Namespaces = ptrTo("") }, reason: v1alpha1.ReasonNamespacesInvalid, field: "namespaces"},
		{name: "a blank list of namespaces", data: func(d *registrationData) { d.Namespaces = ptrTo(" ") }, reason: v1alpha1.ReasonNamespacesInvalid, field: "namespaces"},
		{name: "a namespace that is no label", data: func(d *registrationData) { d.Namespaces = ptrTo("a,Hunter2") }, reason: v1alpha1.ReasonNamespacesInvalid, field: "namespaces"},
		{name: "a trailing comma", data: func(d *registrationData) { d.Namespaces = ptrTo("a,") }, reason: v1alpha1.ReasonNamespacesInvalid, field: "namespaces"},
		{name: "a wildcard among namespaces", data: func(d *registrationData) { d.Namespaces = ptrTo("*") }, reason: v1alpha1.ReasonNamespacesInvalid, field: "namespaces"},
		{name: "an empty list of allowed namespaces", data: func(d *registrationData) { d.AllowedNamespaces = ptrTo("") }, reason: v1alpha1.ReasonNamespacesInvalid, field: "allowedNamespaces"},
		{name: "an allowed namespace that is no label", data: func(d *registrationData) { d.AllowedNamespaces = ptrTo("hunter2_") }, reason: v1alpha1.ReasonNamespacesInvalid, field: "allowedNamespaces"},
		{name: "a network that is none", data: func(d *registrationData) { d.APIServerCIDRs = ptrTo("hunter2") }, reason: v1alpha1.ReasonKubeconfigInvalid, field: "apiServerCIDRs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := registrationData{Kubeconfig: tt.raw}
			if tt.raw == nil {
				data.Kubeconfig = document(t, tt.cluster, tt.user)
			}
			if tt.data != nil {
				tt.data(&data)
			}
			checkRefused(t, data, admitOptions{}, tt.reason, tt.field)
		})
	}
}

func checkRefused(t *testing.T, data registrationData, opts admitOptions, reason, field string) {
	t.Helper()
	reg, refusal := admit(data, opts)
	if refusal == nil {
		t.Fatalf("admitted as %+v, want %s", reg, reason)
	}
	if reg != nil {
		t.Error("a refused registration was handed out")
	}
	if refusal.Reason != reason || refusal.Field != field {
		t.Errorf("refused with %s at %q, want %s at %q", refusal.Reason, refusal.Field, reason, field)
	}
	if strings.Contains(strings.ToLower(refusal.String()), secretValue) {
		t.Errorf("the refusal shows a value: %s", refusal)
	}
	if refusal.Message == "" {
		t.Error("the refusal says nothing")
	}
}

func TestAdmitRefusesLocalAddresses(t *testing.T) {
	hosts := []string{
		"localhost", "LOCALHOST.", "api.localhost", "127.0.0.1", "127.8.8.8", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]",
		"169.254.169.254", "[fe80::1]", "[fe80::1%25eth0]", "[::ffff:169.254.0.1]", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1",
	}
	for _, host := range hosts {
		for _, key := range []string{"server", "proxy-url"} {
			t.Run(key+" "+host, func(t *testing.T) {
				data := registrationData{Kubeconfig: document(t, fields{key: fmt.Sprintf("https://%s:6443", host)}, nil)}
				checkRefused(t, data, admitOptions{AllowInsecure: true}, v1alpha1.ReasonLocalAddressRefused, "clusters[0].cluster."+key)
				if _, refusal := admit(data, admitOptions{AllowLocal: true}); refusal != nil {
					t.Errorf("with local addresses allowed: %s", refusal)
				}
			})
		}
	}
}

func TestAdmitTakesHostsThatOnlyLookLocal(t *testing.T) {
	for _, host := range []string{"localhost.example.org", "mylocalhost", "10.0.0.1", "192.168.0.1", "[2001:db8::1]", "172.16.0.1", "abc.def", "cafe", "12.example.org"} {
		data := registrationData{Kubeconfig: document(t, fields{"server": "https://" + host}, nil)}
		if _, refusal := admit(data, admitOptions{}); refusal != nil {
			t.Errorf("%s: %s", host, refusal)
		}
	}
}

func TestAdmitTakesWhatTheListAllows(t *testing.T) {
	pair := testCA(t).issue(t, "client")
	data := registrationData{
		Kubeconfig: document(t,
			fields{"tls-server-name": "kubernetes", "proxy-url": "socks5://proxy.example.org:1080", "insecure-skip-tls-verify": false, "certificate-authority": ""},
			fields{"client-certificate-data": encode(pair.certPEM), "client-key-data": encode(pair.keyPEM), "exec": nil, "as-groups": []any{}}),
		Namespaces:        ptrTo("b, a,b"),
		AllowedNamespaces: ptrTo("team, *"),
		APIServerCIDRs:    ptrTo("192.0.2.7/24, 2001:db8::/32"),
	}
	reg, refusal := admit(data, admitOptions{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if reg.Host() != "https://api.example.org:6443" || reg.ServerName != "kubernetes" || reg.Proxy.Host != "proxy.example.org:1080" {
		t.Errorf("addresses: %s %s %s", reg.Host(), reg.ServerName, reg.Proxy)
	}
	if reg.Token != secretValue || len(reg.Cert) == 0 || len(reg.Key) == 0 || len(reg.CA) == 0 || reg.Insecure {
		t.Error("the credentials are not those of the document")
	}
	if !slices.Equal(reg.Namespaces, []string{"a", "b"}) || !slices.Equal(reg.AllowedNamespaces, []string{"*", "team"}) {
		t.Errorf("lists: %v %v", reg.Namespaces, reg.AllowedNamespaces)
	}
	if len(reg.APIServerCIDRs) != 2 || reg.APIServerCIDRs[0].String() != "192.0.2.0/24" {
		t.Errorf("networks: %v", reg.APIServerCIDRs)
	}
}

func TestAdmitLooksAtTheCurrentContextOnly(t *testing.T) {
	raw := marshal(t, fields{
		"current-context": "main",
		"contexts": []any{
			fields{"name": "other", "context": fields{"cluster": "bad", "user": "bad"}},
			fields{"name": "main", "context": fields{"cluster": "good", "user": "good"}},
		},
		"clusters": []any{
			fields{"name": "bad", "cluster": fields{"server": "http://127.0.0.1", "certificate-authority": "/etc/shadow"}},
			fields{"name": "good", "cluster": fields{"server": "https://api.example.org"}},
		},
		"users": []any{
			fields{"name": "bad", "user": fields{"exec": fields{"command": "rm"}}},
			fields{"name": "good", "user": fields{"token": "t"}},
		},
	})
	reg, refusal := admit(registrationData{Kubeconfig: raw}, admitOptions{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if reg.Host() != "https://api.example.org" || reg.Token != "t" {
		t.Errorf("got %s with token %q", reg.Host(), reg.Token)
	}
}

func TestAdmitTakesUnverifiedTLSWhereTheOperatorWasToldTo(t *testing.T) {
	data := registrationData{Kubeconfig: document(t, fields{"insecure-skip-tls-verify": true}, nil)}
	reg, refusal := admit(data, admitOptions{AllowInsecure: true})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if !reg.Insecure || reg.CA != nil {
		t.Errorf("insecure %t with a CA of %d bytes; TLS refuses both at once", reg.Insecure, len(reg.CA))
	}
	checkRefused(t, registrationData{Kubeconfig: document(t, fields{"server": "http://api.example.org"}, nil)},
		admitOptions{AllowInsecure: true}, v1alpha1.ReasonInsecureKubeconfig, "clusters[0].cluster.server")
}

func TestRegistrationAllows(t *testing.T) {
	tests := []struct {
		name     string
		allowed  []string
		require  bool
		expected bool
	}{
		{"absent admits everybody", nil, false, true},
		{"absent admits nobody where a list is required", nil, true, false},
		{"a list admits who is on it", []string{"a", "team"}, true, true},
		{"a list refuses who is not on it", []string{"a"}, false, false},
		{"a wildcard admits everybody", []string{"*"}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&Registration{AllowedNamespaces: tt.allowed}).Allows("team", tt.require); got != tt.expected {
				t.Errorf("got %t", got)
			}
		})
	}
}

func ptrTo(s string) *string { return &s }
