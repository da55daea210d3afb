// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package upgrade walks release upgrades and purges of Cinders whose children
// live on a target: real Jobs and rollouts, and an operator that is restarted in
// the midst of them.
package upgrade

import (
	"os"
	"testing"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

const target = "edge-1"

func TestMain(m *testing.M) { os.Exit(harness.Main(m, harness.Options{Targets: 1}, &lab)) }
