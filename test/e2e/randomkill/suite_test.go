// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package randomkill kills operators at random writes, once in each stage of a
// life (install, attach, upgrade, detach, delete), and compares what comes of it
// with a life without kills.
//
// Several operators run side by side, each with a namespace of its own to serve
// and proxies of its own to count its writes: half of them have the children
// beside the resources, half on a target. CINDER_SOAK tries more lives, and
// CINDER_SEED others.
package randomkill

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

func TestMain(m *testing.M) {
	flag.Parse()
	// A lane mostly waits: more of them than cores run side by side, which is what
	// the default would be.
	lanes, _ := size()
	if err := flag.Set("test.parallel", strconv.Itoa(lanes)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, harness.Options{Targets: 1}, &lab))
}
