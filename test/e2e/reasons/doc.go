// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package reasons brings resources into every condition that the operator can
// report: each (kind, type, status, reason) of one table is reached from
// manifests and from the state of real clusters alone. A reason that is declared
// and not in the table fails, and so does a row of the table that no case
// reaches.
package reasons
