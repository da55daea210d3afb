// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package ini

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultSection is the section that oslo.config reads first and whose name
// alone is compared case-sensitively. It is written before all others.
const DefaultSection = "DEFAULT"

// Document is a set of sections with keys. The zero value is an empty document.
// It is not safe for concurrent use.
type Document struct {
	sections map[string]map[string]entry
}

type entry struct {
	value    string
	verbatim bool
}

// New returns an empty document.
func New() *Document { return &Document{} }

// Set writes a literal value: the reader gets back exactly this string, whatever
// `$`, quotes and blanks it holds. A value set before is replaced.
func (d *Document) Set(section, key, value string) {
	d.put(section, key, entry{value: value})
}

// SetVerbatim writes a value in oslo.config's own syntax: `$name` means a
// substitution and quotes are stripped by the reader. A value set before is
// replaced.
func (d *Document) SetVerbatim(section, key, value string) {
	d.put(section, key, entry{value: value, verbatim: true})
}

func (d *Document) put(section, key string, e entry) {
	if d.sections == nil {
		d.sections = map[string]map[string]entry{}
	}
	if d.sections[section] == nil {
		d.sections[section] = map[string]entry{}
	}
	d.sections[section][key] = e
}

// Has tells whether the key was set in exactly that section.
func (d *Document) Has(section, key string) bool {
	_, ok := d.sections[section][key]
	return ok
}

// Sections lists the section names in the order in which they are written.
func (d *Document) Sections() []string {
	names := make([]string, 0, len(d.sections))
	for name := range d.sections {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if (names[i] == DefaultSection) != (names[j] == DefaultSection) {
			return names[i] == DefaultSection
		}
		return names[i] < names[j]
	})
	return names
}

// Keys lists the keys of a section in the order in which they are written.
func (d *Document) Keys(section string) []string {
	keys := make([]string, 0, len(d.sections[section]))
	for key := range d.sections[section] {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// Render writes the document: `[DEFAULT]` first, the other sections and all
// keys sorted, `key = value`, an empty line between sections, no trailing
// blanks. The error is an *Error that names the first section or key that
// cannot be written; it never holds a value.
func (d *Document) Render() (string, error) {
	var b strings.Builder
	for i, section := range d.Sections() {
		if reason := checkSection(section); reason != "" {
			return "", &Error{Section: section, Reason: reason}
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("[" + section + "]\n")
		for _, key := range d.Keys(section) {
			if reason := checkKey(key); reason != "" {
				return "", &Error{Section: section, Key: key, Reason: reason}
			}
			e := d.sections[section][key]
			if reason := checkText("the value", e.value); reason != "" {
				return "", &Error{Section: section, Key: key, Reason: reason}
			}
			text := e.value
			if e.verbatim {
				// The reader strips blanks at both ends, so leaving them out
				// changes nothing but the bytes.
				text = strings.TrimSpace(text)
			} else {
				text = Literal(text)
			}
			b.WriteString(key + " =")
			if text != "" {
				b.WriteString(" " + text)
			}
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}

// Literal writes a value so that the reader gives it back unchanged: every `$`
// becomes `\$`, and the value is quoted when white space or a quote at one of
// its ends would be stripped. (`$$` would not do: the reader rewrites `\$`
// first, so a backslash before it would be eaten.)
func Literal(value string) string {
	text := strings.ReplaceAll(value, "$", `\$`)
	if value == "" {
		return text
	}
	first, _ := utf8.DecodeRuneInString(value)
	last, _ := utf8.DecodeLastRuneInString(value)
	if stripped(first) || stripped(last) {
		return `"` + text + `"`
	}
	return text
}

// stripped tells whether the reader takes this rune away from a value's end.
func stripped(r rune) bool {
	return r == '"' || r == '\'' || unicode.IsSpace(r)
}
