// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness drives the lab and the operator for the suites beside it: it
// brings up one hub and some targets through the lab's command line, gives the
// operator accounts of its own on each, runs the operator as a process, and
// reads what happened from the clusters and their audit logs.
//
// A suite that runs alone has a lab of its own. Where CINDER_E2E_LABS names a
// folder, as in make suite, it takes the lab that an earlier suite left there and
// leaves it to the next one: Main deletes what the tests left, and takes the lab
// down, and says why, when a test failed or something is another than it was.
package harness
