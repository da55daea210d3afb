// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package fleet shows what the operator promises while clusters are registered,
// deregistered, changed, lost and found.
package fleet

import (
	"os"
	"testing"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

func TestMain(m *testing.M) { os.Exit(harness.Main(m, harness.Options{Targets: 2}, &lab)) }

// quick makes an outage show within seconds; one test keeps the defaults.
var quick = harness.QuickProbes()
