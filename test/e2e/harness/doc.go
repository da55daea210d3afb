// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness drives the lab and the operator for the suites beside it: it
// brings up one hub and some targets through the lab's command line, gives the
// operator accounts of its own on each, runs the operator as a process, and
// reads what happened from the clusters and their audit logs.
package harness
