// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package ini_test

import (
	"strings"
	"testing"

	"c5c3.io/cinder-operator/internal/render/ini"
	"c5c3.io/cinder-operator/internal/render/rendertest"
)

// Two options are written; what is read back by oslo.config's rules are these two and nothing else, or nothing is written.
func FuzzRoundTrip(f *testing.F) {
	for _, seed := range []struct {
		section, key, value string
		verbatim            bool
	}{
		{"DEFAULT", "host", "cinder", false},
		{"DEFAULT", "password", `$a\$b"`, false},
		{"s", "k", " both ends ", false},
		{"s", "k", `"quoted"`, true},
		{"s", "k", "'", false},
		{"s", "k", "$state_path/x", true},
		{"s", "k", "a\n[other]\nb = c", false},
		{"s", "k", "a\rb = c", true},
		{"s]", "k=v", "x", true},
		{"s", "#k", "", false},
		{" s", "k ", "\u00a0x\u2028", false},
		{"s", "k", "%(x)s # no comment ; none", true},
	} {
		f.Add(seed.section, seed.key, seed.value, seed.verbatim)
	}
	f.Fuzz(func(t *testing.T, section, key, value string, verbatim bool) {
		if len(section)+len(key)+len(value) > 1<<14 {
			return // longer than a line that the reader takes
		}
		doc := ini.New()
		doc.Set("zz", "fixed", "yes")
		if verbatim {
			doc.SetVerbatim(section, key, value)
		} else {
			doc.Set(section, key, value)
		}
		text, err := doc.Render()
		if err != nil {
			if text != "" {
				t.Fatalf("an error and a text: %q", text)
			}
			return
		}
		read, err := rendertest.ReadINI(text)
		if err != nil {
			t.Fatalf("the text cannot be read: %v\n%s", err, text)
		}
		want := map[string]map[string]bool{"zz": {"fixed": true}}
		if want[section] == nil {
			want[section] = map[string]bool{}
		}
		want[section][key] = true
		for name, keys := range read {
			for k := range keys {
				if !want[name][k] {
					t.Errorf("[%s] %s was added by\n%s", name, k, text)
				}
			}
		}
		got, ok := read[section][key]
		if !ok {
			t.Fatalf("[%s] %s is lost in\n%s", section, key, text)
		}
		if verbatim {
			// The reader takes off blanks and one pair of quotes, which are the writer's to begin with.
			if trimmed := strings.TrimSpace(value); got != trimmed && !strings.Contains(trimmed, got) {
				t.Errorf("%q is read as %q", value, got)
			}
			return
		}
		got, err = rendertest.Substitute(got, func(string) (string, bool) { return "", false })
		if err != nil || got != value {
			t.Errorf("%q is read as %q (%v) from\n%s", value, got, err, text)
		}
	})
}
