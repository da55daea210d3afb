// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package hostile shows that a registered cluster which means harm gets neither
// the operator's memory nor its time, nor at what is not its own.
package hostile

import (
	"os"
	"testing"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

func TestMain(m *testing.M) { os.Exit(harness.Main(m, harness.Options{Targets: 2}, &lab)) }

var quick = harness.QuickProbes()
