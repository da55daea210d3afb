// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"os"
	"testing"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Options{Targets: 1, Spoils: true}, &lab))
}
