// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// fuzzing tells whether this process fuzzes, or works for one that does. The target needs no API server, and every worker
// would start its own.
func fuzzing() bool {
	flag.Parse()
	for _, name := range []string{"test.fuzz", "test.fuzzworker"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != f.DefValue {
			return true
		}
	}
	return false
}

// canary cannot be a key of a mapping that a message would name.
const canary = "c4nary/of the document"

// What is admitted holds nothing that client-go would run or read, whatever the document looks like; what is refused is
// refused without telling a value.
func FuzzAdmit(f *testing.F) {
	const document = `{"current-context":"m","contexts":[{"name":"m","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":"https://api.example.org:6443"CLUSTER}}],"users":[{"name":"u","user":{"token":"TOKEN"USER}}]}`
	for _, seed := range [][2]string{
		{"", ""},
		{"", `,"exec":{"command":"/bin/sh"}`},
		{"", `,"auth-provider":{"name":"x"}`},
		{"", `,"tokenFile":"/etc/passwd"`},
		{"", `,"client-certificate":"/a","client-key":"/b"`},
		{"", `,"username":"a","password":"` + canary + `"`},
		{"", `,"as":"system:admin"`},
		{"", `,"Exec":{"command":"x"}`},
		{`,"certificate-authority":"/a"`, ""},
		{`,"insecure-skip-tls-verify":true`, ""},
		{`,"proxy-url":"http://127.0.0.1"`, ""},
		{`,"server":"http://api"`, ""},
		{`,"extensions":[{"name":"x","extension":{}}]`, ""},
		{`,"tls-server-name":"a\nb"`, ""},
	} {
		f.Add([]byte(strings.NewReplacer("CLUSTER", seed[0], "USER", seed[1], "TOKEN", canary).Replace(document)))
	}
	f.Add([]byte("current-context: &a m\ncontexts: *a\n"))
	f.Add([]byte("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n"))
	f.Add([]byte("- 1\n"))
	f.Add([]byte{0xff, 0xfe})

	f.Fuzz(func(t *testing.T, kubeconfig []byte) {
		got, refusal := admit(registrationData{Kubeconfig: kubeconfig}, admitOptions{})
		if (got == nil) == (refusal == nil) {
			t.Fatalf("registration %v and refusal %v", got, refusal)
		}
		if refusal != nil {
			if text := refusal.Field + refusal.Message; strings.Contains(text, canary) {
				t.Errorf("the refusal tells a value: %s", text)
			}
			return
		}
		switch {
		case got.Server == nil || got.Server.Scheme != "https" || got.Server.Hostname() == "" || got.Server.User != nil:
			t.Errorf("admitted with server %v", got.Server)
		case isLocalHost(got.Server.Hostname()), got.Proxy != nil && isLocalHost(got.Proxy.Hostname()):
			t.Errorf("admitted with a local address: %v, %v", got.Server, got.Proxy)
		case got.Insecure:
			t.Error("admitted without verification")
		case got.Token == "" && (len(got.Cert) == 0 || len(got.Key) == 0):
			t.Error("admitted without a credential")
		case strings.ContainsAny(got.Token+got.ServerName, "\r\n\x00"):
			t.Error("admitted with a line break")
		}
		doc := map[string]any{}
		if err := yaml.UnmarshalStrict(kubeconfig, &doc); err != nil {
			t.Fatalf("admitted although it does not parse: %v", err)
		}
		context := entry(doc, "contexts", "context", doc["current-context"])
		wantKeys(t, entry(doc, "clusters", "cluster", context["cluster"]), "server", "proxy-url", "tls-server-name", "certificate-authority-data", "insecure-skip-tls-verify")
		wantKeys(t, entry(doc, "users", "user", context["user"]), "token", "client-certificate-data", "client-key-data")
	})
}

// entry finds an entry of a document by name, without any of the code under test.
func entry(doc map[string]any, list, key string, name any) map[string]any {
	entries, _ := doc[list].([]any)
	for _, e := range entries {
		if fields, ok := e.(map[string]any); ok && fields["name"] == name {
			found, _ := fields[key].(map[string]any)
			return found
		}
	}
	return nil
}

// wantKeys wants no key but these to say anything.
func wantKeys(t *testing.T, fields map[string]any, allowed ...string) {
	t.Helper()
	for key, value := range fields {
		switch v := value.(type) {
		case nil:
			continue
		case string:
			if v == "" {
				continue
			}
		case bool:
			if !v {
				continue
			}
		case []any:
			if len(v) == 0 {
				continue
			}
		case map[string]any:
			if len(v) == 0 {
				continue
			}
		}
		if !slices.Contains(allowed, key) {
			t.Errorf("admitted with %q", key)
		}
	}
}
