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
	if harness.Soak() {
		return 12
	}
	return 3
}

// workers are how many the operator has: the fewer there are, the sooner holes
// could hold them all.
func workers() []int {
	if harness.Soak() {
		return []int{1, 4}
	}
	return []int{1}
}

// crowd is how many workers there are when a cluster falls silent, and how many of
// its Cinders want one: more.
func crowd() (workers, cinders int) {
	if harness.Soak() {
		return 4, 6
	}
	return 3, 4
}
