// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// The label of the suites, and its values.
const (
	labelWebhooks = "webhooks"
	needed        = "needed"   // only the webhooks reject it
	unneeded      = "unneeded" // the schema rejects it alone
)

// object is a part of a suite.
type object = map[string]any

// suites are the contents of a corpus's chainsaw-test.yaml: one test for each verb, base and need of webhooks, as chainsaw
// runs tests side by side, each in a namespace of its own.
func suites(t *testing.T, c corpus, enabled, disabled []answer) []byte {
	t.Helper()
	type test struct {
		name, need string
		before     *manifest
		steps      []any
	}
	var tests []*test
	find := func(name, need string, before *manifest) *test {
		for _, s := range tests {
			if s.name == name && s.need == need {
				return s
			}
		}
		s := &test{name: name, need: need, before: before}
		if before != nil {
			s.steps = append(s.steps, step("what is updated", object{"create": object{"file": before.file}}))
		}
		tests = append(tests, s)
		return s
	}
	for i, r := range c.rejections {
		need := unneeded
		if disabled[i].text == "" {
			need = needed
		}
		if need == unneeded && !same(enabled[i], disabled[i]) {
			t.Errorf("%s of %s: the webhooks change the schema's answer %q to %q", r.verb, r.sent.file, disabled[i].text, enabled[i].text)
		}
		rejected := object{r.verb: rejectedBy(r, enabled[i])}
		switch {
		case r.before != nil && r.own:
			s := find("transitions", need, nil)
			s.steps = append(s.steps, step(r.name, object{"create": object{"file": r.before.file}}, rejected, object{"delete": object{"file": r.before.file}}))
		case r.verb == "create":
			s := find("creates", need, nil)
			s.steps = append(s.steps, step(r.name, rejected))
		default:
			s := find("updates of "+strings.TrimSuffix(r.before.file, ".yaml"), need, r.before)
			s.steps = append(s.steps, step(r.name, rejected))
		}
	}
	var out bytes.Buffer
	out.WriteString("# SPDX-FileCopyrightText: The cinder-operator Authors\n# SPDX-License-Identifier: Apache-2.0\n\n" +
		"# Generated from the manifests beside it: UPDATE_GOLDEN=1 go test ./test/e2e/admission. Do not edit.\n")
	for _, s := range tests {
		description := "Rejected by the schema, whether or not the webhooks are switched on."
		if s.need == needed {
			description = "Rejected by the webhooks alone."
		}
		document, err := yaml.Marshal(object{
			"apiVersion": "chainsaw.kyverno.io/v1alpha1", "kind": "Test",
			"metadata": object{
				"name":   strings.ReplaceAll(c.folder+" "+s.name+" "+map[string]string{needed: "webhooks", unneeded: "schema"}[s.need], " ", "-"),
				"labels": object{labelWebhooks: s.need},
			},
			"spec": object{"description": description, "steps": s.steps},
		})
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(document)
	}
	return out.Bytes()
}

func step(name string, operations ...any) object { return object{"name": name, "try": operations} }

// rejectedBy is a request that has to be refused with the recorded answer, which is the same in front of the webhooks and
// without them.
func rejectedBy(r rejection, a answer) object {
	return object{"file": r.sent.file, "expect": []any{object{"check": check(a)}}}
}

func same(a, b answer) bool {
	return len(a.text) == len(b.text) && strings.Join(a.violations, "\n") == strings.Join(b.violations, "\n") &&
		(len(a.violations) > 1 || a.text == b.text)
}

// check compares the whole answer. Of several violations, whose order is not always the same, it wants each, and the length
// of the whole: there is no other one.
func check(a answer) object {
	if len(a.violations) < 2 {
		return object{"($error)": a.text}
	}
	out := object{"(length($error))": utf8.RuneCountInString(a.text)}
	for _, violation := range a.violations {
		out["(contains($error, "+literal(violation)+"))"] = true
	}
	return out
}

// literal is a raw string of JMESPath.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", `\'`) + "'" }

// chainsaw runs the tests in the folders that the selector picks, and wants every step of each to have passed.
func chainsaw(t *testing.T, selector string, folders []string, more ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	reports := t.TempDir()
	args := append([]string{
		"test", "--config", ".chainsaw.yaml", "--no-color", "--quiet", "--selector", selector,
		"--report-format", "JSON", "--report-path", reports, "--report-name", "report",
	}, more...)
	for _, folder := range folders {
		args = append(args, "--test-dir", folder)
	}
	cmd := exec.CommandContext(ctx, binary(t), args...)
	cmd.Dir = lab.Root("test", "e2e")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+lab.Hub.Kubeconfig)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("chainsaw: %v\n%s", err, tail(out))
	}
	passed, want := passedSteps(t, filepath.Join(reports, "report.json")), selectedSteps(t, selector, folders)
	for name := range want {
		if !passed[name] {
			t.Errorf("chainsaw did not run %s", name)
		}
	}
	t.Logf("chainsaw ran %d steps", len(want))
}

// passedSteps are those of a report, as "TEST: STEP".
func passedSteps(t *testing.T, file string) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Tests []struct {
			Name  string
			Steps []struct{ Name, Status string }
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, test := range report.Tests {
		for _, s := range test.Steps {
			if s.Status == "passed" {
				out[test.Name+": "+s.Name] = true
			}
		}
	}
	return out
}

// selectedSteps are those of the suites, as "TEST: STEP".
func selectedSteps(t *testing.T, selector string, folders []string) map[string]bool {
	t.Helper()
	picked, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, folder := range folders {
		raw, err := os.ReadFile(filepath.Join("..", folder, "chainsaw-test.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(raw), "\n---\n") {
			var test struct {
				Metadata struct {
					Name   string
					Labels map[string]string
				}
				Spec struct{ Steps []struct{ Name string } }
			}
			if err := yaml.Unmarshal([]byte(document), &test); err != nil {
				t.Fatal(err)
			}
			if picked.Matches(labels.Set(test.Metadata.Labels)) {
				for _, s := range test.Spec.Steps {
					out[test.Metadata.Name+": "+s.Name] = true
				}
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("no test of %v is picked by %q", folders, selector)
	}
	return out
}

// binary is the tool of the Makefile, or built here.
func binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CHAINSAW"); path != "" {
		return path
	}
	cmd := exec.CommandContext(t.Context(), lab.Root("hack", "tool.sh"), "chainsaw")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build chainsaw: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func tail(out []byte) []byte {
	const most = 24 << 10
	return out[max(0, len(out)-most):]
}

// golden compares a suite with its file, or writes it.
func golden(t *testing.T, c corpus, want []byte) {
	t.Helper()
	path := filepath.Join("..", c.folder, "chainsaw-test.yaml")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what the API server answers today; write it anew with UPDATE_GOLDEN=1, and look at the difference", path)
	}
}
