// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"
	"unicode/utf8"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func (c *check) gateway(path *field.Path, spec *v1alpha1.CinderSpec) {
	g := spec.Gateway
	if g == nil {
		return
	}
	if g.ParentRef == (v1alpha1.GatewayParentRefSpec{}) {
		c.errs = append(c.errs, field.Required(path.Child("parentRef"), ""))
	}
	c.required(path.Child("parentRef", "name"), g.ParentRef.Name, 0, nil)
	c.required(path.Child("hostname"), g.Hostname, 0, nil)
	if !spec.KeystoneEnabled() {
		c.invalid(path, g.Hostname, "gateway requires keystoneEndpoint: without it the API runs with auth_strategy = noauth and would be published without authentication")
	}
}

func (c *check) networkPolicy(path *field.Path, n *v1alpha1.NetworkPolicySpec) {
	if n == nil {
		return
	}
	if len(n.Ingress) == 0 {
		c.invalid(path, len(n.Ingress), "at least one ingress source must be specified")
	}
	for i, source := range n.Ingress {
		at := path.Child("ingress").Index(i)
		c.errs = append(c.errs, metav1validation.ValidateLabelSelector(&source.NamespaceSelector, metav1validation.LabelSelectorValidationOptions{}, at.Child("namespaceSelector"))...)
		c.errs = append(c.errs, metav1validation.ValidateLabelSelector(source.PodSelector, metav1validation.LabelSelectorValidationOptions{}, at.Child("podSelector"))...)
	}
}

func (c *check) logging(path *field.Path, l *v1alpha1.LoggingSpec) {
	if l == nil {
		return
	}
	enum(c, path.Child("format"), l.Format, false, v1alpha1.LogFormatText, v1alpha1.LogFormatJSON)
	c.level(path.Child("level"), l.Level, false)
	loggers := path.Child("perLoggerLevels")
	c.count(loggers, len(l.PerLoggerLevels), 0, 64)
	for _, name := range slices.Sorted(maps.Keys(l.PerLoggerLevels)) {
		if name == "" {
			c.invalid(loggers, name, "perLoggerLevels must not contain an empty logger name")
		}
		c.noControl(loggers, name, name)
		c.level(loggers.Key(name), l.PerLoggerLevels[name], true)
	}
}

func (c *check) level(path *field.Path, level v1alpha1.LogLevel, must bool) {
	enum(c, path, level, must, v1alpha1.LogLevelDebug, v1alpha1.LogLevelInfo, v1alpha1.LogLevelWarning,
		v1alpha1.LogLevelError, v1alpha1.LogLevelCritical)
}

func (c *check) policy(path *field.Path, p *v1alpha1.PolicySpec) {
	if p == nil {
		return
	}
	if len(p.Rules) == 0 && p.ConfigMapRef == nil {
		c.invalid(path, len(p.Rules), "at least one of rules or configMapRef must be set")
	}
	rules := path.Child("rules")
	c.count(rules, len(p.Rules), 0, 256)
	for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
		rule := p.Rules[name]
		if name == "" {
			c.invalid(rules, name, "policy rule names must not be empty")
		}
		if rule == "" {
			c.invalid(rules, name, "policy rule values must not be empty")
		}
		if utf8.RuneCountInString(string(rule)) > 1024 { // as the schema counts
			c.errs = append(c.errs, field.TooLong(rules.Key(name), rule, 1024))
		}
	}
	if p.ConfigMapRef != nil {
		c.reference(path.Child("configMapRef"), p.ConfigMapRef.Name)
	}
}
