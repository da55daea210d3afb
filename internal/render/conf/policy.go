// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Policy renders policy.yaml: the rules of base, which is the policy.yaml of
// the ConfigMap that spec.policyOverrides names (empty without one), under the
// inline rules. Rules are sorted by name. Without overrides it is empty.
func Policy(c *v1alpha1.Cinder, base string) (string, error) {
	if c.Spec.PolicyOverrides == nil {
		return "", nil
	}
	rules := map[string]string{}
	if err := yaml.UnmarshalStrict([]byte(base), &rules); err != nil {
		// The parser quotes pieces of the file, which belongs to the user.
		return "", fmt.Errorf("policy.yaml of the referenced ConfigMap is not a map of rule names to rules: %w", err)
	}
	for name, rule := range c.Spec.PolicyOverrides.Rules {
		rules[name] = string(rule)
	}
	text, err := yaml.Marshal(rules)
	if err != nil {
		return "", fmt.Errorf("write policy.yaml: %w", err)
	}
	return string(text), nil
}
