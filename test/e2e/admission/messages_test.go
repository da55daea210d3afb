// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unreachable are messages of package admission that no request can provoke.
var unreachable = map[string]string{
	"name must not contain @ or #": "no API server accepts such a name; the rule is tested where an object needs none",
}

// Every message that a rule of package admission can give stands in the expectations of a manifest: a new rule without one
// fails here.
func TestEveryMessageOfARuleIsExpectedByAManifest(t *testing.T) {
	var expected strings.Builder
	for _, c := range loadCorpora(t) {
		for _, r := range c.rejections {
			expected.WriteString(strings.Join(r.expect, "\n") + "\n")
		}
	}
	messages := messagesOf(t, lab.Root("api", "admission"))
	if len(messages) < 50 {
		t.Fatalf("only %d messages were found: %q", len(messages), messages)
	}
	for _, message := range messages {
		if unreachable[message] == "" && !pattern(message).MatchString(expected.String()) {
			t.Errorf("no manifest is rejected for %q", message)
		}
	}
}

// verb is one of a format.
var verb = regexp.MustCompile(`%[a-z]|%%`)

// pattern matches what a format makes. An expectation may end early, so only the part in front of a trailing verb counts.
func pattern(format string) *regexp.Regexp {
	var parts []string
	for _, part := range verb.Split(format, -1) {
		parts = append(parts, regexp.QuoteMeta(part))
	}
	return regexp.MustCompile(strings.TrimSuffix(strings.Join(parts, ".*"), ".*"))
}

// messagesOf are the literals that the sources of a folder give to the functions that collect violations.
func messagesOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || (fun.Sel.Name != "invalid" && fun.Sel.Name != "Forbidden" && fun.Sel.Name != "Invalid") {
				return true
			}
			for _, argument := range call.Args[1:] {
				for _, text := range literals(argument) {
					if strings.Contains(text, " ") {
						out = append(out, text)
					}
				}
			}
			return true
		})
	}
	return out
}

// literals are the strings in an expression.
func literals(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{text}
		}
	case *ast.BinaryExpr:
		return append(literals(e.X), literals(e.Y)...)
	}
	return nil
}
