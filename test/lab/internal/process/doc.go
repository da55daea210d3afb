// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package process runs the programs of a lab so that none of them outlives the supervisor, whatever ends it.
package process
