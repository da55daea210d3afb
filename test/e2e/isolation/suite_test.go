// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package isolation shows that dead clusters cost the living ones nothing: half
// of the fleet are black holes, of which either no TLS or no answer comes.
package isolation

import (
	"os"
	"testing"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

func TestMain(m *testing.M) { os.Exit(harness.Main(m, harness.Options{Targets: 1}, &lab)) }

// quick makes an outage show within seconds.
var quick = harness.QuickProbes()

// fleet is how many clusters are healthy, and how many are holes beside them.
func fleet() int {
	if os.Getenv("CINDER_SOAK") != "" {
		return 12
	}
	return 3
}
