// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package rendertest_test

import (
	"testing"

	"c5c3.io/cinder-operator/internal/render/rendertest"
)

func TestTheReaderFollowsOsloConfig(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"blanks at both ends":       {"k =   a b   \n", "a b"},
		"no blanks":                 {"k=a\n", "a"},
		"a pair of quotes":          {"k = \"a b \"\n", "a b "},
		"one quote":                 {"k = \"a\n", "\"a"},
		"a quote alone":             {"k = \"\n", ""},
		"an indented line":          {"k = a\n  b\n", "a\nb"},
		"a comment in column 0":     {"k = a\n#b = c\n;d = e\n", "a"},
		"a comment sign inside":     {"k = a # b ; c\n", "a # b ; c"},
		"CRLF":                      {"k = a\r\nx = b\r\n", "a"},
		"a lone CR":                 {"k = a\rx = b\n", "a"},
		"a colon":                   {"k: a=b\n", "a=b"},
		"an empty value":            {"k =\n", ""},
		"a section further down":    {"k = a\n[g]\nk = b\n", "a"},
		"an indented line of blank": {"k = a\n\n", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			sections, err := rendertest.ReadINI("[s]\n" + c.body)
			if err != nil || sections["s"]["k"] != c.want {
				t.Errorf("got %q, %v, want %q", sections["s"]["k"], err, c.want)
			}
		})
	}
	for name, text := range map[string]string{
		"a key without a section": "k = a\n", "a continuation of nothing": "[s]\n  a\n", "a comment behind a section": "[s] # x\n",
		"no assignment": "[s]\nk\n", "an empty key": "[s]\n= a\n",
	} {
		if got, err := rendertest.ReadINI(text); err == nil {
			t.Errorf("%s is read as %v", name, got)
		}
	}
}

func TestSubstitutionFollowsOsloConfig(t *testing.T) {
	lookup := func(name string) (string, bool) { return "<" + name + ">", name != "nope" }
	for value, want := range map[string]string{
		"a$host": "a<host>", "a${host}b": "a<host>b", "${g.x}": "<g.x>", "a$$nope": "a$nope", `a\$nope`: "a$nope",
		"a$": "a$", "a$1": "a$1", "$ b": "$ b", `\\$x`: `\$x`, "100%": "100%",
	} {
		if got, err := rendertest.Substitute(value, lookup); err != nil || got != want {
			t.Errorf("%q gives %q, %v, want %q", value, got, err, want)
		}
	}
	if got, err := rendertest.Substitute("$nope", lookup); err == nil {
		t.Errorf("an unknown name gives %q", got)
	}
}
