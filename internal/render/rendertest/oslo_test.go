// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package rendertest_test

import (
	"encoding/json"
	"maps"
	"os"
	"testing"

	"c5c3.io/cinder-operator/internal/render/rendertest"
)

// recorded are answers of the real oslo.config; hack/oslo-answers.sh makes them.
type recorded struct {
	Version string            `json:"oslo.config"`
	Options map[string]string `json:"options"`
	Files   []struct {
		Text     string                       `json:"text"`
		Sections map[string]map[string]string `json:"sections"`
		Error    bool                         `json:"error"`
	} `json:"files"`
	Values []struct {
		Value string `json:"value"`
		Gives string `json:"gives"`
		Error bool   `json:"error"`
	} `json:"values"`
}

func TestTheReaderAnswersAsTheRealOsloConfigDid(t *testing.T) {
	text, err := os.ReadFile("testdata/oslo.json")
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Version == "" || len(r.Files) < 400 || len(r.Values) < 250 {
		t.Fatalf("too little was recorded of oslo.config %q: %d files, %d values", r.Version, len(r.Files), len(r.Values))
	}
	refused := 0
	for _, f := range r.Files {
		got, err := rendertest.ReadINI(f.Text)
		if (err != nil) != f.Error || err == nil && !maps.EqualFunc(got, f.Sections, maps.Equal[map[string]string]) {
			t.Errorf("%q is read as %v (%v), by oslo.config as %v (an error: %t)", f.Text, got, err, f.Sections, f.Error)
		}
		if f.Error {
			refused++
		}
	}
	if refused < 50 || refused > len(r.Files)*2/3 {
		t.Errorf("%d of %d files are refused: that shows little", refused, len(r.Files))
	}
	lookup := func(name string) (string, bool) { v, ok := r.Options[name]; return v, ok }
	for _, v := range r.Values {
		if got, err := rendertest.Substitute(v.Value, lookup); (err != nil) != v.Error || err == nil && got != v.Gives {
			t.Errorf("%q gives %q (%v), with oslo.config %q (an error: %t)", v.Value, got, err, v.Gives, v.Error)
		}
	}
}

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
