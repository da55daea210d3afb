// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Patterns of the schemas. A test compares them with the generated ones.
var (
	patternRelease      = regexp.MustCompile(`^\d{4}\.[12]$`)
	patternRepository   = regexp.MustCompile(`^[a-z0-9]+([._:/-][a-z0-9]+)*$`)
	patternTag          = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
	patternDigest       = regexp.MustCompile(`^sha256:[a-f0-9]{64}$`)
	patternSubdomain    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	patternHost         = regexp.MustCompile(`^[a-zA-Z0-9._:-]+$`)
	patternDatabase     = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	patternStorageSize  = regexp.MustCompile(`^[0-9]+(Mi|Gi|Ti)$`)
	patternOneLine      = regexp.MustCompile(`^[^\n\r]+$`)
	patternEndpoint     = regexp.MustCompile(`^https?://`)
	patternNFSServer    = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)
	patternNFSPath      = regexp.MustCompile(`^/[!-~]*$`)
	patternMountOptions = regexp.MustCompile(`^[^\n\r]*$`)
	patternCephName     = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	patternCephCluster  = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	patternMonitor      = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`)
	patternIPv4CIDR     = regexp.MustCompile(`^([0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]{1,2}$`)
	patternUUID         = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	patternExtraOption  = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
)

const (
	maxNameLength = 253

	msgNewline = "must not contain a newline or carriage return"
	msgControl = "must not contain a control character"
)

// check collects violations.
type check struct {
	errs     field.ErrorList
	warnings []string
}

func (c *check) invalid(path *field.Path, value any, format string, args ...any) {
	c.errs = append(c.errs, field.Invalid(path, value, fmt.Sprintf(format, args...)))
}

func (c *check) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// required wants a text, of at most limit characters where limit is above zero, that matches the pattern where there is one.
func (c *check) required(path *field.Path, value string, limit int, pattern *regexp.Regexp) {
	if value == "" {
		// A field that is missing and one that is empty are one to a decoded object.
		c.errs = append(c.errs, field.Required(path, "should be at least 1 chars long"))
		return
	}
	c.optional(path, value, limit, pattern)
}

// optional is required for a text that may be left out.
func (c *check) optional(path *field.Path, value string, limit int, pattern *regexp.Regexp) {
	if value == "" {
		return
	}
	if limit > 0 && utf8.RuneCountInString(value) > limit { // as the schema counts
		c.errs = append(c.errs, field.TooLong(path, value, limit))
	}
	if pattern != nil && !pattern.MatchString(value) {
		c.invalid(path, value, "should match '%s'", pattern)
	}
}

// reference wants the name of an object.
func (c *check) reference(path *field.Path, name string) {
	c.required(path.Child("name"), name, maxNameLength, nil)
}

// subdomain wants a name that is a DNS-1123 subdomain.
func (c *check) subdomain(path *field.Path, name string) {
	c.required(path.Child("name"), name, maxNameLength, patternSubdomain)
}

// enum wants one of the values. Unless must is set, it may be left out.
func enum[T ~string](c *check, path *field.Path, value T, must bool, values ...T) {
	if value == "" {
		if must {
			c.errs = append(c.errs, field.Required(path, ""))
		}
		return
	}
	for _, v := range values {
		if v == value {
			return
		}
	}
	c.errs = append(c.errs, field.NotSupported(path, value, values))
}

// atLeast wants a number, where there is one, that is not below the bound.
func atLeast[T cmp.Ordered](c *check, path *field.Path, value *T, bound T) {
	if value != nil && *value < bound {
		c.invalid(path, *value, "should be greater than or equal to %v", bound)
	}
}

func (c *check) count(path *field.Path, n, least, most int) {
	if n < least {
		c.invalid(path, n, "should have at least %d items", least)
	}
	if n > most {
		c.errs = append(c.errs, field.TooMany(path, n, most))
	}
}

// noControl refuses what would end a line of a configuration file. The value stands in no message: the caller decides
// whether it may be shown.
func (c *check) noControl(path *field.Path, shown, text string) {
	if message := controlIn(text); message != "" {
		c.invalid(path, shown, "%s", message)
	}
}

func controlIn(text string) string {
	switch {
	case strings.ContainsAny(text, "\n\r"):
		return msgNewline
	case strings.ContainsFunc(text, unicode.IsControl):
		return msgControl
	case !utf8.ValidString(text):
		return "must be valid UTF-8"
	}
	return ""
}
