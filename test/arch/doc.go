// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package arch holds the table of the repository's rooms, and the test that
// fails on an import the table does not allow. It has no code to import.
package arch
