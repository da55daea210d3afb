// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// The manifests that the API server is tested with: one for each rule of the schemas, with its field and message.
const corpus = "../../test/e2e"

// unrepresentable are expectations that a decoded object cannot fail: what is missing is empty.
var unrepresentable = []string{
	"spec: Required value",
	"spec.database.host: should be at least 1 chars long", // is no host at all
	"spec.networkPolicy.ingress[0].namespaceSelector: Required value",
	"status.",
}

// validateManifest answers the violations of a manifest, updated by another one where there is one.
func validateManifest(t *testing.T, kind string, manifest, update []byte) (field.ErrorList, error) {
	t.Helper()
	switch kind {
	case "cinder":
		obj, old, err := decode(manifest, update, &v1alpha1.Cinder{}, &v1alpha1.Cinder{})
		if err != nil {
			return nil, err
		}
		_, errs := ValidateCinder(obj, old, CinderFacts{})
		return errs, nil
	case "cinderbackend":
		obj, old, err := decode(manifest, update, &v1alpha1.CinderBackend{}, &v1alpha1.CinderBackend{})
		if err != nil {
			return nil, err
		}
		_, errs := ValidateCinderBackend(obj, old, CinderBackendFacts{})
		return errs, nil
	case "cinderbackupbackend":
		obj, old, err := decode(manifest, update, &v1alpha1.CinderBackupBackend{}, &v1alpha1.CinderBackupBackend{})
		if err != nil {
			return nil, err
		}
		_, errs := ValidateCinderBackupBackend(obj, old, CinderBackupBackendFacts{})
		return errs, nil
	}
	t.Fatalf("no kind %q", kind)
	return nil, nil
}

func decode[T any](manifest, update []byte, obj, old *T) (*T, *T, error) {
	if update == nil {
		return obj, nil, decodeAsServer(manifest, obj)
	}
	if err := decodeAsServer(manifest, old); err != nil {
		return nil, nil, err
	}
	return obj, old, decodeAsServer(update, obj)
}

// decodeAsServer reads a manifest by way of JSON, as a request has it: nothing is turned into a string on the way.
func decodeAsServer(manifest []byte, into any) error {
	content, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

type corpusCase struct {
	kind, name       string
	manifest, update []byte
	expect           []string
}

func corpusCases(t *testing.T, verdict string) []corpusCase {
	t.Helper()
	var cases []corpusCase
	for _, kind := range []string{"cinder", "cinderbackend", "cinderbackupbackend"} {
		files, err := filepath.Glob(filepath.Join(corpus, verdict+"-"+kind+"-schema", "[0-9]*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no %s manifests of a %s: %v", verdict, kind, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, ".update.yaml") || strings.HasSuffix(file, ".status.yaml") {
				continue
			}
			stem := strings.TrimSuffix(file, ".yaml")
			c := corpusCase{kind: kind, name: filepath.Base(stem)}
			c.manifest, c.expect = readManifest(t, file)
			if _, err := os.Stat(stem + ".update.yaml"); err == nil {
				var more []string
				c.update, more = readManifest(t, stem+".update.yaml")
				c.expect = append(c.expect, more...)
			}
			cases = append(cases, c)
		}
	}
	return cases
}

func readManifest(t *testing.T, file string) (content []byte, expect []string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		if expected, ok := strings.CutPrefix(lines.Text(), "# expect: "); ok {
			expect = append(expect, expected)
		}
	}
	return content, expect
}

// A map's key is written as a field in the schema's answers.
var mapKey = regexp.MustCompile(`\[([^\]0-9][^\]]*)\]`)

func schemaPath(path string) string { return mapKey.ReplaceAllString(path, ".$1") }

func TestEveryRuleOfTheSchemasIsRepeatedInItsWords(t *testing.T) {
	for _, c := range corpusCases(t, "invalid") {
		t.Run(c.kind+"/"+c.name, func(t *testing.T) {
			errs, err := validateManifest(t, c.kind, c.manifest, c.update)
			if err != nil {
				// What does not decode reaches no rule; the API server is told so.
				if !strings.Contains(err.Error(), "quantities must match") && !strings.Contains(err.Error(), "cannot unmarshal") {
					t.Fatal(err)
				}
				return
			}
			for _, expected := range c.expect {
				if has(errs, expected) || excepted(expected) {
					continue
				}
				t.Errorf("no violation is %q; they are:\n%s", expected, list(errs))
			}
		})
	}
}

func excepted(expected string) bool {
	for _, e := range unrepresentable {
		if expected == e || (strings.HasSuffix(e, ".") && strings.HasPrefix(expected, e)) {
			return true
		}
	}
	return false
}

func has(errs field.ErrorList, expected string) bool {
	path, message, _ := strings.Cut(expected, ": ")
	for _, err := range errs {
		if (err.Field == path || schemaPath(err.Field) == path) && strings.Contains(err.ErrorBody(), message) {
			return true
		}
	}
	return false
}

func list(errs field.ErrorList) string {
	var b strings.Builder
	for _, err := range errs {
		b.WriteString(err.Error() + "\n")
	}
	return b.String()
}

// beyondSchemas are manifests that the schemas accept and that only admission can reject.
var beyondSchemas = map[string]string{
	"cinder/129-extra-config-value-type": "spec.extraConfig[no_such_section][key]: no such option in the cinder 2026.1 option catalog",
	"cinderbackend/06-cinder-too-long":   "metadata.name: name and cinderRef.name must together be at most 47 characters",
}

func TestWhatTheSchemasAcceptOnlyARuleOfAdmissionRejects(t *testing.T) {
	for _, c := range corpusCases(t, "valid") {
		t.Run(c.kind+"/"+c.name, func(t *testing.T) {
			errs, err := validateManifest(t, c.kind, c.manifest, c.update)
			if err != nil {
				t.Fatal(err)
			}
			if expected, ok := beyondSchemas[c.kind+"/"+c.name]; ok {
				if len(errs) != 1 || !has(errs, expected) {
					t.Errorf("the one violation is not %q:\n%s", expected, list(errs))
				}
				return
			}
			if len(errs) > 0 {
				t.Errorf("rejected:\n%s", list(errs))
			}
		})
	}
}

// The schemas' patterns are the ones of check.go, to the letter.
func TestThePatternsAreThoseOfTheSchemas(t *testing.T) {
	var schemas []byte
	for _, kind := range []string{"cinders", "cinderbackends", "cinderbackupbackends"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "cinder.openstack.c5c3.io_"+kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, content...)
	}
	known := map[string]bool{}
	for _, p := range []*regexp.Regexp{
		patternRelease, patternRepository, patternTag, patternDigest, patternSubdomain, patternHost, patternDatabase,
		patternStorageSize, patternOneLine, patternEndpoint, patternNFSServer, patternNFSPath, patternMountOptions,
		patternCephName, patternCephCluster, patternMonitor, patternIPv4CIDR, patternUUID,
	} {
		known[p.String()] = false
	}
	for _, match := range regexp.MustCompile(`(?m)^ *pattern: (.*)$`).FindAllSubmatch(schemas, -1) {
		var pattern string
		if err := yaml.Unmarshal(match[1], &pattern); err != nil {
			t.Fatal(err)
		}
		// A quantity does not decode otherwise, and conditions are the operator's own.
		if strings.Contains(pattern, "KMGTPE") || strings.HasPrefix(pattern, "^[A-Za-z]([A-Za-z0-9_,:]*") || strings.HasPrefix(pattern, "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?") {
			continue
		}
		if _, ok := known[pattern]; !ok {
			t.Errorf("the schemas' pattern %s is not repeated", pattern)
		}
		known[pattern] = true
	}
	for pattern, seen := range known {
		if !seen {
			t.Errorf("pattern %s stands in no schema", pattern)
		}
	}
}
