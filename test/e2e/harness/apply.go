// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"path/filepath"
	"testing"
)

// ApplySample applies one file of config/samples as it stands. What it makes
// stays: on the hub, the test takes it away.
func (c *Cluster) ApplySample(t testing.TB, file string) {
	t.Helper()
	if err := c.applyFile(t.Context(), filepath.Join(c.lab.root, "config", "samples", file)); err != nil {
		t.Fatal(err)
	}
}
