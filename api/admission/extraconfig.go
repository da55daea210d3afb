// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/catalog"
	"c5c3.io/cinder-operator/api/v1alpha1"
)

// extraConfig judges options of cinder.conf. No message holds a value: it may be a credential. The catalog is another
// operator's with the next version: what it let in before is warned about until it is changed.
func (c *check) extraConfig(path *field.Path, obj, old *v1alpha1.Cinder) {
	release, extra := obj.Spec.OpenStackRelease, obj.Spec.ExtraConfig
	if len(extra) == 0 {
		return
	}
	unknown := func(at *field.Path, name, format string, args ...any) { c.invalid(at, name, format, args...) }
	if old != nil && old.Spec.OpenStackRelease == release && reflect.DeepEqual(old.Spec.ExtraConfig, extra) {
		unknown = func(at *field.Path, _, format string, args ...any) {
			c.warn("%s: "+format, append([]any{at}, args...)...)
		}
	}
	options, known := catalog.For(release)
	if !known {
		c.warn("%s: there is no option catalog of release %s: the names of sections and options are not checked", path, release)
	}
	for _, section := range slices.Sorted(maps.Keys(extra)) {
		at := path.Key(section)
		if message := unwritableSection(section); message != "" {
			c.invalid(at, section, "%s", message)
			continue
		}
		if known && !options.HasSection(section) && len(extra[section]) == 0 {
			unknown(at, section, "[%s]: no such section in the cinder %s option catalog", section, release)
		}
		for _, key := range slices.Sorted(maps.Keys(extra[section])) {
			if c.extraOption(at.Key(key), options, section, key, extra[section][key]) {
				unknown(at.Key(key), key, "[%s] %s: no such option in the cinder %s option catalog", section, key, release)
			}
		}
	}
}

// extraOption judges one option, and tells whether the catalog does not know it. options is nil for a release without
// catalog.
func (c *check) extraOption(at *field.Path, options *catalog.Catalog, section, key, value string) (unknown bool) {
	name := "[" + section + "] " + key
	if message := controlIn(value); message != "" {
		c.invalid(at, key, "the value %s", message)
	}
	if message := unwritableKey(key); message != "" {
		c.invalid(at, key, "%s", message)
		return false
	}
	if v1alpha1.RejectsExtraConfig(section, key) {
		c.errs = append(c.errs, field.Forbidden(at, name+" is set by the operator and cannot be overridden"))
		return false
	}
	if options == nil {
		return false
	}
	option, ok := options.Option(section, key)
	switch {
	case !ok:
		return true
	case option.Deprecated && option.Replacement != "":
		c.warn("%s: %s is deprecated in cinder %s: use %s", at, name, options.Release(), option.Replacement)
	case option.Deprecated:
		c.warn("%s: %s is deprecated in cinder %s and will be removed without a replacement", at, name, options.Release())
	}
	return false
}

// unwritableSection says what keeps a name from being read back as the section that it names.
func unwritableSection(name string) string {
	switch message := controlIn(name); {
	case message != "":
		return "the section name " + message
	case name == "":
		return "the section name must not be empty"
	case strings.TrimSpace(name) != name:
		return "the section name must not start or end with white space"
	case strings.ContainsAny(name, "[]"):
		return "the section name must not contain a bracket"
	}
	return ""
}

// unwritableKey says what keeps a name from being read back as the option that it names: the first = or : ends it, and a
// line that starts with one of [ # ; is none.
func unwritableKey(key string) string {
	switch message := controlIn(key); {
	case message != "":
		return "the option name " + message
	case key == "":
		return "the option name must not be empty"
	case strings.TrimSpace(key) != key:
		return "the option name must not start or end with white space"
	case strings.ContainsAny(key, "=:"):
		return `the option name must not contain "=" or ":"`
	case strings.ContainsAny(key[:1], "[#;"):
		return `the option name must not start with "[", "#" or ";"`
	}
	return ""
}

// extraOptions judges the options of a backend's section.
func (c *check) extraOptions(path *field.Path, options map[string]string, denied []string) {
	if len(options) > 32 {
		c.errs = append(c.errs, field.TooMany(path, len(options), 32))
	}
	tooLong := false
	for _, key := range slices.Sorted(maps.Keys(options)) {
		value, at := options[key], path.Key(key)
		// CEL counts characters.
		if len([]rune(key)) > 256 || len([]rune(value)) > 1024 {
			tooLong = true
		}
		if !patternExtraOption.MatchString(key) {
			c.invalid(at, key, "the option name must match %s", patternExtraOption)
		} else if slices.Contains(denied, key) {
			c.errs = append(c.errs, field.Forbidden(at, key+" is set by the operator and cannot be overridden"))
		}
		if message := controlIn(value); message != "" {
			c.invalid(at, key, "the value %s", message)
		}
	}
	if tooLong {
		c.invalid(path, len(options), "extraOptions keys are limited to 256 characters and values to 1024")
	}
}
