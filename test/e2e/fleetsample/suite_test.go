// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package fleetsample applies config/samples/fleet as it stands and shows what
// becomes of it on a target: two NFS backends, two RBD backends and an RBD backup
// target, their files, and what rotated keys and changed satellites do to them.
package fleetsample

import (
	"os"
	"testing"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Options{Targets: 1, Spoils: true}, &lab))
}
