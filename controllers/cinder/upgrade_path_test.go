// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"strings"
	"testing"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestAnUpgradeLeadsToTheNextReleaseOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		installed, wanted string
		reason, says      string
	}{
		"the second half of a year":        {"2026.1", "2026.2", "", ""},
		"the first half of the next":       {"2026.2", "2027.1", "", ""},
		"across a decade":                  {"2029.2", "2030.1", "", ""},
		"half a year back":                 {"2026.2", "2026.1", v1alpha1.ReasonDowngradeNotSupported, "2026.2 again"},
		"years back":                       {"2027.1", "2025.2", v1alpha1.ReasonDowngradeNotSupported, "2027.1 again"},
		"a whole year at once":             {"2026.1", "2027.1", v1alpha1.ReasonUpgradePathInvalid, "upgrade to 2026.2 first"},
		"the same half of the next":        {"2026.2", "2027.2", v1alpha1.ReasonUpgradePathInvalid, "upgrade to 2027.1 first"},
		"an installed one of no form":      {"zed", "2026.2", v1alpha1.ReasonVersionParseError, `status.installedRelease "zed"`},
		"an installed one of a third half": {"2026.3", "2027.1", v1alpha1.ReasonVersionParseError, `status.installedRelease "2026.3"`},
		"a wanted one of no form":          {"2026.1", "2026.2.1", v1alpha1.ReasonVersionParseError, `spec.openStackRelease "2026.2.1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason, message := pathFault(c.installed, c.wanted)
			if reason != c.reason || !strings.Contains(message, c.says) || (message == "") != (reason == "") {
				t.Errorf("got %q: %q, want %q: %q", reason, message, c.reason, c.says)
			}
		})
	}
}
