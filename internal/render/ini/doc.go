// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package ini writes the INI files that oslo.config reads.
//
// It is the one writer of such files, so that every document is ordered,
// escaped and checked in the same way. The reader on the other side decides
// the rules: oslo.config substitutes `$name` in every value, strips white space
// and one pair of quotes from it, takes an indented line for a continuation
// and, at a line break, starts a new key or section. A value that comes from a
// typed field is therefore written so that the reader gives back exactly that
// value, and nothing that carries a control character is written at all.
package ini
