// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package rendertest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// ReadINI reads a file as oslo.config's parser does: LF, CR and CRLF end a
// line, an indented line continues the value before it, `#` and `;` are
// comments in column 0, the first `=` or `:` ends the key, blanks and one outer
// pair of quotes are stripped. Values are raw: Substitute comes after.
func ReadINI(text string) (map[string]map[string]string, error) {
	sections := map[string]map[string]string{}
	section, key := "", ""
	var value []string
	flush := func() error {
		if key == "" {
			return nil
		}
		if section == "" {
			return fmt.Errorf("key %q before any section", key)
		}
		sections[section][key] = strings.Join(value, "\n")
		key, value = "", nil
		return nil
	}
	for line := range strings.SplitSeq(universalNewlines(text), "\n") {
		line = strings.TrimRightFunc(line, isSpace)
		switch {
		case line == "":
			if err := flush(); err != nil {
				return nil, err
			}
			continue
		case line[0] == ' ' || line[0] == '\t':
			if key == "" {
				return nil, fmt.Errorf("continuation of nothing: %q", line)
			}
			value = append(value, strings.TrimLeftFunc(line, isSpace))
			continue
		}
		if err := flush(); err != nil {
			return nil, err
		}
		switch {
		case line[0] == '[':
			if !strings.HasSuffix(line, "]") || len(line) <= 2 {
				return nil, fmt.Errorf("bad section header %q", line)
			}
			section = line[1 : len(line)-1]
			if sections[section] == nil {
				sections[section] = map[string]string{}
			}
		case line[0] == '#' || line[0] == ';':
		default:
			i := strings.IndexAny(line, "=:")
			if i < 0 {
				return nil, fmt.Errorf("no assignment in %q", line)
			}
			if key = strings.TrimFunc(line[:i], isSpace); key == "" {
				return nil, fmt.Errorf("no key in %q", line)
			}
			value = []string{unquote(strings.TrimFunc(line[i+1:], isSpace))}
		}
	}
	return sections, flush()
}

// universalNewlines reads text as a Python text file is read.
func universalNewlines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// isSpace tells what Python strips: the separators of files, groups, records and units count there.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func unquote(value string) string {
	if value == "" || value[0] != value[len(value)-1] || (value[0] != '"' && value[0] != '\'') {
		return value
	}
	if len(value) == 1 {
		return ""
	}
	return value[1 : len(value)-1]
}

// placeholder is Python's string.Template with oslo.config's identifiers.
var placeholder = regexp.MustCompile(`(?i)\$(?:(\$)|([_a-z][._a-z0-9]*)|\{([_a-z][._a-z0-9]*)\})`)

// Substitute does what oslo.config does to every value, from a file and from
// the environment: `\$` becomes `$$`, `$$` stands for `$`, and a name is looked
// up. Reading an option with an unknown name fails.
func Substitute(value string, lookup func(name string) (string, bool)) (string, error) {
	var failed error
	value = strings.ReplaceAll(value, `\$`, "$$")
	out := placeholder.ReplaceAllStringFunc(value, func(match string) string {
		groups := placeholder.FindStringSubmatch(match)
		if groups[1] != "" {
			return "$"
		}
		name := groups[2] + groups[3]
		got, ok := lookup(name)
		if !ok {
			failed = fmt.Errorf("unknown option %q", name)
		}
		return got
	})
	return out, failed
}
