// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package urls_test

import (
	"strings"
	"testing"

	"c5c3.io/cinder-operator/internal/render/rendertest"
	"c5c3.io/cinder-operator/internal/render/urls"
)

const awkward = "a b$c&d+e,f;g=h@i:j/k?l#m%n[o]p\"q'é~-_."

func TestEncodeLeavesOnlyUnreservedCharactersRaw(t *testing.T) {
	const raw = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
	for c := range 256 {
		s := string([]byte{byte(c)})
		got := urls.Encode(s)
		if strings.Contains(raw, s) {
			if got != s {
				t.Errorf("%q was encoded as %q", s, got)
			}
		} else if len(got) != 3 || got[0] != '%' {
			t.Errorf("%q was written as %q", s, got)
		}
	}
	if got := urls.Encode("a $é"); got != "a%20%24%C3%A9" {
		t.Errorf("got %q", got)
	}
}

func TestEnvironmentValuesComeBackUnchanged(t *testing.T) {
	lookup := func(string) (string, bool) { return "SUBSTITUTED", true }
	for _, want := range []string{"", "plain", "$debug", "a$$b", `\$x`, `\\$$x`, "${debug}", "$1$", `"q" `, awkward} {
		got, err := rendertest.Substitute(urls.EscapeEnv(want), lookup)
		if err != nil || got != want {
			t.Errorf("%q came back as %q, %v", want, got, err)
		}
	}
}

func TestDatabaseURL(t *testing.T) {
	plain := urls.Database{Host: "db", Name: "cinder", Username: "u", Password: "p"}
	with := func(change func(*urls.Database)) urls.Database {
		d := plain
		change(&d)
		return d
	}
	const front = "mysql+pymysql://u:p@db:3306/cinder?charset=utf8mb4"
	for name, c := range map[string]struct {
		db   urls.Database
		want string
	}{
		"plain": {plain, front},
		"a port": {with(func(d *urls.Database) { d.Port = 3307 }),
			"mysql+pymysql://u:p@db:3307/cinder?charset=utf8mb4"},
		"an IPv6 host": {with(func(d *urls.Database) { d.Host = "fd00::1" }),
			"mysql+pymysql://u:p@[fd00::1]:3306/cinder?charset=utf8mb4"},
		"an IPv6 host in brackets": {with(func(d *urls.Database) { d.Host = "[fd00::1]" }),
			"mysql+pymysql://u:p@[fd00::1]:3306/cinder?charset=utf8mb4"},
		"TLS disabled": {with(func(d *urls.Database) { d.TLSMode, d.CAFile = "disabled", "/ca" }), front},
		"TLS prefer":   {with(func(d *urls.Database) { d.TLSMode, d.CAFile = "prefer", "/ca" }), front + "&ssl_check_hostname=false"},
		"TLS require":  {with(func(d *urls.Database) { d.TLSMode = "require" }), front + "&ssl_check_hostname=false"},
		"TLS verify-ca": {with(func(d *urls.Database) { d.TLSMode, d.CAFile = "verify-ca", "/ca" }),
			front + "&ssl_ca=/ca&ssl_check_hostname=false"},
		"TLS verify-full with a client pair": {with(func(d *urls.Database) {
			d.TLSMode, d.CAFile, d.CertFile, d.KeyFile = "verify-full", "/ca", "/crt", "/key"
		}), front + "&ssl_ca=/ca&ssl_cert=/crt&ssl_key=/key"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.db.URL()
			if err != nil || got != c.want {
				t.Errorf("got  %q (%v)\nwant %q", got, err, c.want)
			}
			if strings.Contains(got, "ssl_verify") {
				t.Error("ssl_verify_* makes PyMySQL drop the CA")
			}
		})
	}
}

func TestDatabaseCredentialsSurviveTheURLAndTheEnvironment(t *testing.T) {
	got, err := urls.Database{Host: "db", Name: "cinder", Username: "u@:/", Password: awkward}.URL()
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(strings.TrimPrefix(got, "mysql+pymysql://"), "$ ,;+'\"") {
		t.Errorf("a character that a reader would act on is raw: %q", got)
	}
	read, err := rendertest.Substitute(got, func(string) (string, bool) { return "", false })
	if err != nil || read != got {
		t.Errorf("the environment changes the URL: %q, %v", read, err)
	}
	user, rest, _ := strings.Cut(strings.TrimPrefix(got, "mysql+pymysql://"), ":")
	password, _, _ := strings.Cut(rest, "@")
	if unquote(t, user) != "u@:/" || unquote(t, password) != awkward {
		t.Errorf("user %q, password %q", user, password)
	}
}

func TestAnIncompleteDatabaseURLIsNeverWritten(t *testing.T) {
	for name, d := range map[string]urls.Database{
		"no user":            {Host: "db", Name: "n", Password: "p"},
		"no password":        {Host: "db", Name: "n", Username: "u"},
		"no name":            {Host: "db", Username: "u", Password: "p"},
		"no host":            {Name: "n", Username: "u", Password: "p"},
		"a port in the host": {Host: "db:3306", Name: "n", Username: "u", Password: "p"},
		"an unknown mode":    {Host: "db", Name: "n", Username: "u", Password: "p", TLSMode: "maybe"},
		"no CA to verify by": {Host: "db", Name: "n", Username: "u", Password: "p", TLSMode: "verify-full"},
		"half a client pair": {Host: "db", Name: "n", Username: "u", Password: "p", TLSMode: "require", CertFile: "/c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := d.URL(); err == nil || got != "" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// unquote decodes as Python's urllib.parse.unquote does, for valid input.
func unquote(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		const hex = "0123456789ABCDEF"
		high, low := strings.IndexByte(hex, s[i+1]), strings.IndexByte(hex, s[i+2])
		if high < 0 || low < 0 {
			t.Fatalf("bad escape in %q", s)
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String()
}
