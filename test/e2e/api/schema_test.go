// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// constraint is one rule of a schema: what it says, where it stands, and how a rejection by it reads.
type constraint struct {
	path    string // where a rejection points, with [] for items and {} for map values
	rule    string // such as minimum 1
	message string // the part of a cause's message that tells it from other rules at its path
}

// constraintKey tells constraints apart. A block that a schema contains several times, such as the deployment of each
// service, is one type with one set of rules: of the path only the last two parts count.
type constraintKey struct{ place, rule string }

func (k constraintKey) String() string { return k.place + " " + k.rule }

func (c constraint) key() constraintKey {
	parts := strings.Split(c.path, ".")
	return constraintKey{place: strings.Join(parts[max(0, len(parts)-2):], "."), rule: c.rule}
}

// hitBy says whether a cause of a rejection is this rule.
func (c constraint) hitBy(cause metav1.StatusCause) bool {
	return samePath(c.path, cause.Field) && strings.Contains(cause.Message, c.message)
}

// samePath compares a schema's path with a field's: an index stands for [], and any name for {}.
func samePath(schema, field string) bool {
	split := func(path string) []string {
		return strings.Split(strings.NewReplacer("[", ".[", "{}", ".{}").Replace(path), ".")
	}
	want, got := split(schema), split(field)
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		switch {
		case want[i] == "{}":
		case want[i] == "[]" && strings.HasPrefix(got[i], "["):
		case want[i] != got[i]:
			return false
		}
	}
	return true
}

func loadCRDs(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(crdDirectory, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("list the CustomResourceDefinitions in %s: %v, %d found", crdDirectory, err, len(files))
	}
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, crd); err != nil {
			t.Fatalf("parse %s: %v", file, err)
		}
		out = append(out, crd)
	}
	return out
}

// loadSchemas returns the rules of each generated schema by the kind's singular name.
func loadSchemas(t *testing.T) map[string][]constraint {
	t.Helper()
	out := map[string][]constraint{}
	for _, crd := range loadCRDs(t) {
		for _, version := range crd.Spec.Versions {
			out[crd.Spec.Names.Singular] = append(out[crd.Spec.Names.Singular], collect(t, version.Schema.OpenAPIV3Schema, "")...)
		}
	}
	return out
}

// foreign are blocks of Kubernetes' own types. What they require of themselves is not ours to prove; their patterns are
// proven all the same, because they reach our users through our schema.
var foreign = []string{"affinity", "topologySpreadConstraints", "behavior", "additionalEgress", "claims", "namespaceSelector", "podSelector"}

// collect returns the rules of a schema and of everything below it.
func collect(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, path string) []constraint {
	t.Helper()
	if path == "status.conditions" {
		return nil // metav1.Condition as Kubernetes publishes it; nobody but the operator writes one
	}
	var out []constraint
	add := func(at, rule, message string) { out = append(out, constraint{path: at, rule: rule, message: message}) }

	if schema.Pattern != "" {
		add(path, "pattern "+schema.Pattern, "should match '"+schema.Pattern+"'")
	}
	if schema.MinLength != nil {
		add(path, fmt.Sprintf("minLength %d", *schema.MinLength), fmt.Sprintf("should be at least %d chars long", *schema.MinLength))
	}
	if schema.MaxLength != nil {
		add(path, fmt.Sprintf("maxLength %d", *schema.MaxLength), fmt.Sprintf("may not be more than %d bytes", *schema.MaxLength))
	}
	if schema.Minimum != nil {
		add(path, fmt.Sprintf("minimum %v", *schema.Minimum), fmt.Sprintf("should be greater than or equal to %v", int64(*schema.Minimum)))
	}
	if schema.Maximum != nil {
		add(path, fmt.Sprintf("maximum %v", *schema.Maximum), fmt.Sprintf("should be less than or equal to %v", int64(*schema.Maximum)))
	}
	if schema.MultipleOf != nil {
		add(path, fmt.Sprintf("multipleOf %v", *schema.MultipleOf), fmt.Sprintf("should be a multiple of %v", int64(*schema.MultipleOf)))
	}
	if schema.MinItems != nil {
		add(path, fmt.Sprintf("minItems %d", *schema.MinItems), fmt.Sprintf("should have at least %d items", *schema.MinItems))
	}
	if schema.MaxItems != nil {
		add(path, fmt.Sprintf("maxItems %d", *schema.MaxItems), fmt.Sprintf("must have at most %d items", *schema.MaxItems))
	}
	if schema.MaxProperties != nil {
		add(path, fmt.Sprintf("maxProperties %d", *schema.MaxProperties), fmt.Sprintf("must have at most %d items", *schema.MaxProperties))
	}
	if len(schema.Enum) != 0 {
		add(path, fmt.Sprintf("enum %s", schema.Enum), "Unsupported value")
	}
	for _, rule := range schema.XValidations {
		if rule.Message == "" {
			t.Errorf("the CEL rule %q at %s has no message", rule.Rule, path)
		}
		add(path+rule.FieldPath, "rule: "+rule.Message, rule.Message)
	}
	isForeign := slices.ContainsFunc(strings.Split(strings.NewReplacer("[]", "", "{}", "").Replace(path), "."), func(part string) bool {
		return slices.Contains(foreign, part)
	})
	for _, name := range schema.Required {
		if !isForeign {
			add(join(path, name), "required", "Required value")
		}
	}

	for name := range schema.Properties {
		property := schema.Properties[name]
		out = append(out, collect(t, &property, join(path, name))...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		out = append(out, collect(t, schema.Items.Schema, path+"[]")...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		out = append(out, collect(t, schema.AdditionalProperties.Schema, path+"{}")...)
	}
	rejectUnknownKeywords(t, schema, path)
	return out
}

// rejectUnknownKeywords fails on a keyword that restricts values and that collect does not know: a rule of that kind
// would go unproven.
func rejectUnknownKeywords(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, path string) {
	t.Helper()
	if schema.MinProperties != nil || schema.UniqueItems || schema.ExclusiveMinimum || schema.ExclusiveMaximum ||
		schema.Not != nil || len(schema.OneOf) != 0 || len(schema.AllOf) != 0 || len(schema.AnyOf) != 0 && !schema.XIntOrString {
		t.Errorf("the schema at %s restricts values by a keyword that this suite does not prove", path)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
