// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// corpora are the folders of the manifests that must be rejected. The schema of TargetCluster is beyond the webhooks, and
// its rules are those of its status: test/e2e/api has them.
var corpora = []string{
	"invalid-cinder-schema", "invalid-cinderbackend-schema", "invalid-cinderbackupbackend-schema",
	"invalid-cinder-cr", "invalid-cinderbackend-cr", "invalid-cinderbackupbackend-cr",
}

// manifest is a file of a corpus.
type manifest struct {
	file   string
	object *unstructured.Unstructured
	// heading holds what the comments in front say, by their first word.
	heading map[string][]string
}

// rejection is one request that must be refused.
type rejection struct {
	name   string
	verb   string // create or update
	sent   manifest
	before *manifest // exists before
	// own says that before belongs to this one, and is gone after it.
	own bool
	// rules are those of the webhooks that it breaks, and expect its violations, as "FIELD: PART".
	rules, expect []string
}

type corpus struct {
	folder     string
	rejections []rejection
}

func (c corpus) kind() string { return strings.Split(c.folder, "-")[1] }

func loadCorpora(t *testing.T) []corpus {
	t.Helper()
	var out []corpus
	for _, folder := range corpora {
		out = append(out, loadCorpus(t, folder))
	}
	return out
}

func loadCorpus(t *testing.T, folder string) corpus {
	t.Helper()
	c := corpus{folder: folder}
	files, err := filepath.Glob(filepath.Join("..", folder, "[0-9]*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no manifests in %s: %v", folder, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if strings.Contains(name, ".") {
			continue // belongs to the manifest of its name
		}
		part := func(suffix string) *manifest { return loadOptional(t, strings.TrimSuffix(file, ".yaml")+suffix) }
		m := load(t, file)
		switch update := part(".update.yaml"); {
		case part(".status.yaml") != nil:
			// chainsaw sends no status; test/e2e/api does.
		case update != nil:
			c.add(t, rejection{name: name, verb: "update", sent: *update, before: &m, own: true, rules: m.heading["rule"]})
		default:
			c.add(t, rejection{name: name, verb: "create", sent: m, before: part(".before.yaml"), own: true, rules: m.heading["rule"]})
			if only := m.heading["only"]; len(only) == 0 {
				c.add(t, rejection{name: name, verb: "update", sent: m, before: base(t, folder, m), rules: m.heading["rule"]})
			} else if only[0] != "create" {
				t.Errorf("%s: only %q", file, only)
			}
		}
	}
	// What has the same base stands together: it is made once.
	slices.SortStableFunc(c.rejections, func(a, b rejection) int { return cmp.Compare(a.place(), b.place()) })
	return c
}

func (r rejection) place() string {
	switch {
	case r.before == nil:
		return "1"
	case !r.own:
		return "2" + r.before.file
	}
	return "3"
}

func (c *corpus) add(t *testing.T, r rejection) {
	t.Helper()
	r.expect = r.sent.heading["expect"]
	if r.verb == "update" {
		r.expect = append(slices.Clone(r.expect), r.sent.heading["expect as an update"]...)
	}
	if len(r.expect) == 0 {
		t.Errorf("%s/%s has no line \"# expect: FIELD: PART\"", c.folder, r.sent.file)
	}
	if r.verb == "update" && r.sent.object.GetName() != r.before.object.GetName() {
		t.Errorf("%s/%s is no update of %s: it has another name", c.folder, r.sent.file, r.before.file)
	}
	c.rejections = append(c.rejections, r)
}

// base is what a manifest is an update of, where it has nothing of its own.
func base(t *testing.T, folder string, m manifest) *manifest {
	t.Helper()
	name := "base.yaml"
	if m.object.GetKind() != "Cinder" {
		name = "base-nfs.yaml"
		if typ, _, _ := unstructured.NestedString(m.object.Object, "spec", "type"); typ == "RBD" {
			name = "base-rbd.yaml"
		}
	}
	b := load(t, filepath.Join("..", folder, name))
	return &b
}

func loadOptional(t *testing.T, file string) *manifest {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	m := load(t, file)
	return &m
}

func load(t *testing.T, file string) manifest {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := manifest{file: filepath.Base(file), object: &unstructured.Unstructured{}, heading: map[string][]string{}}
	if err := yaml.UnmarshalStrict(raw, &m.object.Object); err != nil {
		t.Fatalf("parse %s: %v", file, err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan() && (lines.Text() == "" || strings.HasPrefix(lines.Text(), "#")); {
		if word, text, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "# "), ": "); ok {
			m.heading[word] = append(m.heading[word], text)
		}
	}
	return m
}
