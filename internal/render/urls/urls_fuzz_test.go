// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package urls_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"c5c3.io/cinder-operator/internal/render/rendertest"
	"c5c3.io/cinder-operator/internal/render/urls"
)

// inEnvironment is what a process finds in its option when it is given the URL by a variable.
func inEnvironment(t *testing.T, text string) string {
	t.Helper()
	got, err := rendertest.Substitute(urls.EscapeEnv(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("the variable cannot be read: %v", err)
	}
	return got
}

// The user and the password that a database is given are the ones of the Secret, whatever they hold, and nothing of them
// reaches the host or the parameters.
func FuzzDatabaseURL(f *testing.F) {
	f.Add("db", int32(3306), "cinder", "cinder", "secret")
	f.Add("fd00::1", int32(0), "cinder", "a:b@c/d", "p?ssl_ca=x&y#z")
	f.Add("[fd00::1]", int32(1), "c", "$debug", "%2F\\$$")
	f.Add("db@evil", int32(65535), "c/../d", "ü", "\x00\n")
	f.Add("db/x", int32(-1), "", " ", "+")
	f.Fuzz(func(t *testing.T, host string, port int32, name, user, password string) {
		text, err := urls.Database{Host: host, Port: port, Name: name, Username: user, Password: password}.URL()
		if err != nil || port < 0 || port > 65535 {
			return
		}
		u, err := url.Parse(inEnvironment(t, text))
		if err != nil {
			t.Fatalf("%q does not parse: %v", text, err)
		}
		gotPassword, _ := u.User.Password()
		if u.User.Username() != user || gotPassword != password {
			t.Errorf("user %q and password %q are read as %q and %q", user, password, u.User.Username(), gotPassword)
		}
		if bare := strings.Trim(host, "[]"); !strings.Contains(bare, ":") && u.Hostname() != bare {
			t.Errorf("host %q is read as %q", host, u.Hostname())
		}
		want := port
		if want == 0 {
			want = 3306
		}
		if u.Port() != strconv.Itoa(int(want)) {
			t.Errorf("port %d is read as %q", port, u.Port())
		}
		if u.Path != "/"+name || u.RawQuery != "charset=utf8mb4" || u.Fragment != "" {
			t.Errorf("database %q is read as path %q, query %q, fragment %q", name, u.Path, u.RawQuery, u.Fragment)
		}
	})
}

// What the writer makes of a broker is read as that broker.
func FuzzBrokerURL(f *testing.F) {
	f.Add("rabbit", int32(5672), "cinder", "secret", "/")
	f.Add("fd00::1", int32(0), "a,b", "$debug@:[]", "cinder")
	f.Add("Rabbit", int32(1), "ü", "%2f", "a b?c#d")
	f.Add("rabbit", int32(5671), "a/b", "x", "")
	f.Fuzz(func(t *testing.T, host string, port int32, user, password, vhost string) {
		broker := urls.Broker{Host: host, Port: port, Username: user, Password: password, VirtualHost: vhost}
		text, err := broker.URL()
		if err != nil || port < 0 || port > 65535 {
			return
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == '$' || r == ',' }) {
			t.Fatalf("a character is left as it is: %q", text)
		}
		got, err := urls.ParseTransport(inEnvironment(t, text))
		if err != nil {
			t.Fatalf("%q cannot be read: %v", text, err)
		}
		want := vhost
		if want == "" {
			want = "/"
		}
		if got.VirtualHost != want || len(got.Hosts) != 1 {
			t.Errorf("virtual host %q is read as %q, hosts %q", vhost, got.VirtualHost, got.Hosts)
		}
		if port != 0 && got.Port != port {
			t.Errorf("port %d is read as %d", port, got.Port)
		}
	})
}

// A transport URL of a Secret is taken apart or refused, and a refusal never tells it.
func FuzzParseTransport(f *testing.F) {
	for _, seed := range []string{
		"rabbit://cinder:c4nary!@rabbit:5672/cinder",
		"rabbit://u:c4nary!@a:1,u:c4nary!@[fd00::1]:2/",
		"rabbit://u:c4nary!@a,b/",
		"rabbit://u:c4nary!%2F@a/",
		"rabbit://u:c4nary!@@a/x?ssl=1",
		"amqp://u:c4nary!@a/",
		"rabbit://u:c4nary!\n@a/",
		"rabbit://u:c4nary!@a:0/",
		"rabbit://:c4nary!@a/%zz",
		"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := urls.ParseTransport(raw)
		if err != nil {
			if strings.Contains(err.Error(), "c4nary!") {
				t.Errorf("the refusal tells the password: %v", err)
			}
			return
		}
		if len(got.Hosts) == 0 || got.VirtualHost == "" || !utf8.ValidString(strings.Join(got.Hosts, "")) {
			t.Errorf("%q is read as %+v", raw, got)
		}
		for _, port := range got.Ports {
			if port < 1 || port > 65535 {
				t.Errorf("%q is read with port %d", raw, port)
			}
		}
		for _, host := range got.Hosts {
			if strings.ContainsAny(host, "@/$, \n") || host != strings.ToLower(host) {
				t.Errorf("%q is read with host %q", raw, host)
			}
		}
	})
}
