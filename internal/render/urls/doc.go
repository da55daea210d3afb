// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package urls builds the two URLs that carry credentials, the database's and
// the message bus', and checks a bus URL that somebody else wrote.
//
// Both reach Cinder as environment variables, and oslo.config substitutes
// `$name` in those as it does in a file. oslo.messaging splits hosts at commas
// before it decodes anything. Go's own escapers leave characters raw that mean
// something to these readers, so the package has its own.
//
// No error of this package holds a credential.
package urls
