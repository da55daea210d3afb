// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// declared are the string constants of the API whose names begin with prefix, by
// value: what the source says, not what somebody remembered to list.
func declared(t *testing.T, prefix string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../api/v1alpha1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if !strings.HasPrefix(name.Name, prefix) || i >= len(spec.Values) {
					continue
				}
				literal, ok := spec.Values[i].(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					t.Errorf("%s is no plain string", name.Name)
					continue
				}
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				out[value] = name.Name
			}
			return true
		})
	}
	if len(out) < 10 {
		t.Fatalf("only %v begin with %s", out, prefix)
	}
	return out
}

func TestEveryDeclaredReasonAndConditionHasARow(t *testing.T) {
	reasons, types := declared(t, "Reason"), declared(t, "Condition")
	inTable := map[string]bool{}
	seen := map[row]bool{}
	for _, r := range table {
		if seen[r] {
			t.Errorf("%s stands twice in the table", r)
		}
		seen[r], inTable[r.reason], inTable[r.typ] = true, true, true
		if reasons[r.reason] == "" || types[r.typ] == "" {
			t.Errorf("%s has a reason or a type that the API does not declare", r)
		}
	}
	for _, names := range []map[string]string{reasons, types} {
		for value, name := range names {
			if !inTable[value] {
				t.Errorf("no row of the table has %s, %q", name, value)
			}
		}
	}
}
