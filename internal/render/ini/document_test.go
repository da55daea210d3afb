// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package ini_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"c5c3.io/cinder-operator/internal/render/ini"
	"c5c3.io/cinder-operator/internal/render/rendertest"
)

func TestSectionsAndKeysAreSortedWithDefaultFirst(t *testing.T) {
	render := func() string {
		doc := ini.New()
		doc.Set("nova", "b", "2")
		doc.Set("nova", "a", "1")
		doc.Set("Zebra", "z", "")
		doc.Set("DEFAULT", "debug", "true")
		doc.Set("DEFAULT", "auth_strategy", "noauth")
		text, err := doc.Render()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	want := "[DEFAULT]\nauth_strategy = noauth\ndebug = true\n\n[Zebra]\nz =\n\n[nova]\na = 1\nb = 2\n"
	if got := render(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	rendertest.Stable(t, render)
}

func TestValuesAreWrittenForTheReader(t *testing.T) {
	for name, c := range map[string]struct{ value, literal, verbatim string }{
		"plain":                     {"a b", "k = a b", "k = a b"},
		"empty":                     {"", "k =", "k ="},
		"a dollar":                  {"a$b", `k = a\$b`, "k = a$b"},
		"two dollars":               {"$$", `k = \$\$`, "k = $$"},
		"a backslash and a dollar":  {`\$`, `k = \\$`, `k = \$`},
		"a blank in front":          {" a", `k = " a"`, "k = a"},
		"a blank behind":            {"a ", `k = "a "`, "k = a"},
		"a no-break space behind":   {"a\u00a0", "k = \"a\u00a0\"", "k = a"},
		"a quote in front":          {`"a`, `k = ""a"`, `k = "a`},
		"a quote behind":            {"a'", `k = "a'"`, "k = a'"},
		"a quote inside":            {`a"b`, `k = a"b`, `k = a"b`},
		"percent and comment signs": {"%(x)s # ;", "k = %(x)s # ;", "k = %(x)s # ;"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, form := range []struct {
				set  func(*ini.Document, string, string, string)
				want string
			}{{(*ini.Document).Set, c.literal}, {(*ini.Document).SetVerbatim, c.verbatim}} {
				doc := ini.New()
				form.set(doc, "s", "k", c.value)
				got, err := doc.Render()
				if err != nil {
					t.Fatal(err)
				}
				if want := "[s]\n" + form.want + "\n"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}

func TestLiteralValuesComeBackUnchanged(t *testing.T) {
	alphabet := []rune("$$$\\\"' %#;=:,bx{}[].1é\u00a0\u2028")
	random := rand.New(rand.NewPCG(1, 2))
	lookup := func(string) (string, bool) { return "SUBSTITUTED", true }
	for range 4000 {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteRune(alphabet[random.IntN(len(alphabet))])
		}
		want := b.String()
		doc := ini.New()
		doc.Set("DEFAULT", "target", want)
		doc.Set("DEFAULT", "zz_behind", "x")
		text, err := doc.Render()
		if err != nil {
			t.Fatal(err)
		}
		sections, err := rendertest.ReadINI(text)
		if err != nil {
			t.Fatalf("%q does not parse: %v", text, err)
		}
		got, err := rendertest.Substitute(sections["DEFAULT"]["target"], lookup)
		if err != nil || got != want {
			t.Fatalf("%q came back as %q (%v) through %q", want, got, err, text)
		}
		if len(sections) != 1 || len(sections["DEFAULT"]) != 2 || sections["DEFAULT"]["zz_behind"] != "x" {
			t.Fatalf("%q changed what stands around it: %v", want, sections)
		}
	}
}

func TestControlCharactersAreRefusedWithTheirPlace(t *testing.T) {
	for name, control := range map[string]string{
		"line feed": "\n", "carriage return": "\r", "tab": "\t", "nul": "\x00", "vertical tab": "\v",
		"form feed": "\f", "file separator": "\x1c", "delete": "\x7f", "next line": "\u0085",
	} {
		t.Run(name, func(t *testing.T) {
			evil := "secret" + control + "rbd_pool = evil"
			for _, c := range []struct{ section, key, value, inError string }{
				{"s", "k", evil, "[s] k: the value carries a control character"},
				{"s", "k" + control, "v", "the key carries a control character"},
				{"s" + control + "[x]", "k", "v", "the section name carries a control character"},
			} {
				for _, set := range []func(*ini.Document, string, string, string){(*ini.Document).Set, (*ini.Document).SetVerbatim} {
					doc := ini.New()
					set(doc, c.section, c.key, c.value)
					text, err := doc.Render()
					var e *ini.Error
					if !errors.As(err, &e) || text != "" {
						t.Fatalf("%q was written: %q, %v", c, text, err)
					}
					if !strings.Contains(e.Error(), c.inError) {
						t.Errorf("the error %q does not say %q", e, c.inError)
					}
					if strings.Contains(e.Error(), "evil") || strings.Contains(e.Error(), "secret") || strings.Contains(e.Error(), control) {
						t.Errorf("the error holds the value or the character: %q", e)
					}
				}
			}
		})
	}
}

func TestNamesThatTheReaderTakesForSomethingElseAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ section, key string }{
		"an empty section":       {"", "k"},
		"a bracket":              {"a]b", "k"},
		"a blank section end":    {"a ", "k"},
		"an empty key":           {"s", ""},
		"a continuation":         {"s", " k"},
		"a section as key":       {"s", "[g]"},
		"a comment":              {"s", "#k"},
		"another comment":        {"s", ";k"},
		"an assignment":          {"s", "a=b"},
		"an assignment by colon": {"s", "a:b"},
		"invalid UTF-8":          {"s", "\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := ini.New()
			doc.Set(c.section, c.key, "v")
			if text, err := doc.Render(); err == nil {
				t.Errorf("written: %q", text)
			}
		})
	}
}
