// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package deletion shows what becomes of a deleted Cinder, and of its children,
// whatever happened to the cluster that they live on.
package deletion

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

func TestMain(m *testing.M) {
	// The cases wait far more than they work.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, harness.Options{Targets: 2}, &lab))
}

// abandonAfter is each of the two windows in this suite.
const abandonAfter = 15 * time.Second

// quick makes an outage show within seconds.
var quick = append(harness.QuickProbes(), "--connect-grace=3s")
