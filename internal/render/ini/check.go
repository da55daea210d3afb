// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package ini

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error says which section or key cannot be written, and why. Values are
// never part of it: they may be credentials.
type Error struct {
	Section string
	// Key is empty when the section name itself is at fault.
	Key string
	// Reason is a sentence about the part at fault, such as
	// "the value carries a control character".
	Reason string
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("section %q: %s", e.Section, e.Reason)
	}
	return fmt.Sprintf("[%s] %s: %s", printable(e.Section), printable(e.Key), e.Reason)
}

// printable keeps a message on one line whatever the name holds.
func printable(name string) string {
	if checkText("", name) == "" {
		return name
	}
	return fmt.Sprintf("%q", name)
}

func checkSection(name string) string {
	if reason := checkText("the section name", name); reason != "" {
		return reason
	}
	switch {
	case name == "":
		return "the section name is empty"
	case strings.TrimSpace(name) != name:
		return "the section name starts or ends with white space"
	case strings.ContainsAny(name, "[]"):
		return "the section name carries a bracket"
	}
	return ""
}

// checkKey refuses what the reader would not take for the same key: a blank in
// front makes the line a continuation of the value before it, `[` a section,
// `#` and `;` a comment, and the first `=` or `:` ends the key.
func checkKey(key string) string {
	if reason := checkText("the key", key); reason != "" {
		return reason
	}
	switch {
	case key == "":
		return "the key is empty"
	case strings.TrimSpace(key) != key:
		return "the key starts or ends with white space"
	case strings.ContainsAny(key, "=:"):
		return `the key carries "=" or ":"`
	case strings.ContainsAny(key[:1], "[#;"):
		return `the key starts with "[", "#" or ";"`
	}
	return ""
}

func checkText(what, text string) string {
	switch {
	case !utf8.ValidString(text):
		return what + " is not valid UTF-8"
	case HasControl(text):
		return what + " carries a control character"
	}
	return ""
}

// HasControl tells whether the text holds a control character (Unicode Cc: the
// C0 and C1 sets with tab, line feed and carriage return, and DEL).
func HasControl(text string) bool {
	return strings.ContainsFunc(text, unicode.IsControl)
}
