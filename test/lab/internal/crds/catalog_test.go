// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const documents = `# a comment
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.example.org
  labels: {kept: "yes", chart: '{{ .Release.Name }}'}
spec:
  group: example.org
  conversion: {strategy: Webhook}
status: {acceptedNames: {kind: "", plural: ""}}
---
`

func TestDefinitionsAreReadWithoutWhatNobodyServes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bundle.yaml")
	if err := os.WriteFile(file, []byte(documents), 0o644); err != nil {
		t.Fatal(err)
	}
	found, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].GetName() != "things.example.org" {
		t.Fatalf("found %v", found)
	}
	crd := found[0]
	for _, path := range [][]string{{"spec", "conversion"}, {"status"}} {
		if _, there, _ := unstructured.NestedFieldNoCopy(crd.Object, path...); there {
			t.Errorf("%s is still there", strings.Join(path, "."))
		}
	}
	if labels := crd.GetLabels(); len(labels) != 1 || labels["kept"] != "yes" {
		t.Errorf("the labels are %v", labels)
	}
}

func TestTheCatalogNamesExactVersions(t *testing.T) {
	for name, sources := range catalog {
		if len(sources) == 0 {
			t.Errorf("%s has no sources", name)
		}
		for _, s := range sources {
			if _, version, ok := strings.Cut(s.module, "@"); !ok || !strings.HasPrefix(version, "v") || strings.Count(version, ".") < 2 {
				t.Errorf("%s: module %s has no exact version", name, s.module)
			}
			if len(s.files) == 0 {
				t.Errorf("%s: module %s has no files", name, s.module)
			}
		}
	}
	if !slices.IsSorted(Names()) || len(Names()) != len(catalog) {
		t.Errorf("the names are %v", Names())
	}
	if _, err := find("nothing"); err == nil || !strings.Contains(err.Error(), "gateway-api") {
		t.Errorf("an unknown name: %v", err)
	}
}
