// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEveryInvalidManifestIsRejectedForTheReasonItNames(t *testing.T) {
	covered := map[string]map[constraintKey]bool{}
	schemas := loadSchemas(t)
	for _, c := range loadCases(t, "invalid") {
		t.Run(c.kind+"/"+c.name, func(t *testing.T) {
			if len(c.expect) == 0 {
				t.Fatal("the manifest has no \"# expect: FIELD: MESSAGE\" comment")
			}
			err := c.send(t, callContext(t))
			if err == nil {
				t.Fatalf("the API server accepted a manifest that must be rejected with %q", c.expect)
			}
			found, err := causes(err)
			if err != nil {
				t.Fatal(err)
			}
			for _, expected := range c.expect {
				if !slices.ContainsFunc(found, func(cause metav1.StatusCause) bool { return matches(cause, expected) }) {
					t.Errorf("no cause is %q; the causes are %q", expected, found)
				}
			}
			for _, cause := range found {
				if !slices.ContainsFunc(c.expect, func(expected string) bool { return matches(cause, expected) }) {
					t.Errorf("the manifest is also rejected for what it does not name: %s: %s", cause.Field, cause.Message)
				}
			}
			if covered[c.kind] == nil {
				covered[c.kind] = map[constraintKey]bool{}
			}
			for _, constraint := range schemas[c.kind] {
				if slices.ContainsFunc(found, constraint.hitBy) {
					covered[c.kind][constraint.key()] = true
				}
			}
		})
	}

	for kind, constraints := range schemas {
		t.Run(kind+"/has a rejected manifest for each rule of its schema", func(t *testing.T) {
			missing := map[constraintKey]constraint{}
			for _, constraint := range constraints {
				if !covered[kind][constraint.key()] {
					missing[constraint.key()] = constraint
				}
			}
			for _, key := range slices.SortedFunc(maps.Keys(missing), func(a, b constraintKey) int { return strings.Compare(a.String(), b.String()) }) {
				t.Errorf("no manifest in invalid-%s-schema is rejected by %s at %s", kind, key, missing[key].path)
			}
		})
	}
}

func TestEveryValidManifestIsAccepted(t *testing.T) {
	for _, c := range loadCases(t, "valid") {
		t.Run(c.kind+"/"+c.name, func(t *testing.T) {
			if len(c.expect) != 0 {
				t.Fatalf("a manifest that must pass expects %q", c.expect)
			}
			if err := c.send(t, callContext(t)); err != nil {
				t.Fatalf("the API server rejected a manifest that must pass: %v", err)
			}
		})
	}
}

func TestEveryInvalidManifestHasAValidCounterpart(t *testing.T) {
	names := func(verdict string) map[string]bool {
		out := map[string]bool{}
		for _, c := range loadCases(t, verdict) {
			out[c.kind+"/"+c.name] = true
		}
		return out
	}
	invalid, valid := names("invalid"), names("valid")
	for name := range invalid {
		if !valid[name] {
			t.Errorf("invalid manifest %s has no valid counterpart of its name", name)
		}
	}
	for name := range valid {
		if !invalid[name] {
			t.Errorf("valid manifest %s has no invalid counterpart of its name", name)
		}
	}
}

// matches says whether a cause is the one that an expectation, "FIELD: MESSAGE", names. The message may be a part.
func matches(cause metav1.StatusCause, expected string) bool {
	field, message, ok := strings.Cut(expected, ": ")
	return ok && cause.Field == field && strings.Contains(cause.Message, message)
}
