// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"strings"
	"testing"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestTheNextMoveOfAnUpgrade(t *testing.T) {
	t.Parallel()
	const none = v1alpha1.UpgradePhase("")
	for name, c := range map[string]struct {
		installed, wanted, target string
		phase                     v1alpha1.UpgradePhase
		mismatch                  string
		move                      move
		reason                    string
	}{
		"a first install":                         {"", "2026.1", "", none, "", moveSync, ""},
		"a first install of a mismatched image":   {"", "2026.1", "", none, "tag", moveHold, v1alpha1.ReasonImageReleaseMismatch},
		"the steady state":                        {"2026.1", "2026.1", "", none, "", moveSync, ""},
		"another image of the same release":       {"2026.1", "2026.1", "", none, "", moveSync, ""},
		"a steady release, a mismatched image":    {"2026.1", "2026.1", "", none, "tag", moveHold, v1alpha1.ReasonImageReleaseMismatch},
		"a bump in lockstep":                      {"2026.1", "2026.2", "", none, "", moveStart, ""},
		"a bump without the image":                {"2026.1", "2026.2", "", none, "tag", moveHold, v1alpha1.ReasonImageReleaseMismatch},
		"a jump":                                  {"2026.1", "2027.1", "", none, "", moveHold, v1alpha1.ReasonUpgradePathInvalid},
		"a downgrade":                             {"2026.2", "2026.1", "", none, "", moveHold, v1alpha1.ReasonDowngradeNotSupported},
		"an installed release of no form":         {"latest", "2026.1", "", none, "", moveHold, v1alpha1.ReasonVersionParseError},
		"expanding goes on":                       {"2026.1", "2026.2", "2026.2", v1alpha1.UpgradePhaseExpanding, "", moveRun, ""},
		"migrating goes on":                       {"2026.1", "2026.2", "2026.2", v1alpha1.UpgradePhaseMigrating, "", moveRun, ""},
		"rolling goes on":                         {"2026.1", "2026.2", "2026.2", v1alpha1.UpgradePhaseRollingUpdate, "", moveRun, ""},
		"contracting goes on":                     {"2026.1", "2026.2", "2026.2", v1alpha1.UpgradePhaseContracting, "", moveRun, ""},
		"rolling with the image taken back":       {"2026.1", "2026.2", "2026.2", v1alpha1.UpgradePhaseRollingUpdate, "tag", moveHold, v1alpha1.ReasonImageReleaseMismatch},
		"another target in mid-upgrade":           {"2026.1", "2027.1", "2026.2", v1alpha1.UpgradePhaseMigrating, "", moveHold, v1alpha1.ReasonUpgradeTargetChanged},
		"another target, without its image":       {"2026.1", "2027.1", "2026.2", v1alpha1.UpgradePhaseMigrating, "tag", moveHold, v1alpha1.ReasonUpgradeTargetChanged},
		"an older release than the installed one": {"2026.1", "2025.2", "2026.2", v1alpha1.UpgradePhaseExpanding, "", moveHold, v1alpha1.ReasonUpgradeTargetChanged},
		"reverted while expanding":                {"2026.1", "2026.1", "2026.2", v1alpha1.UpgradePhaseExpanding, "", moveAbort, ""},
		"reverted while migrating":                {"2026.1", "2026.1", "2026.2", v1alpha1.UpgradePhaseMigrating, "", moveAbort, ""},
		"reverted while rolling":                  {"2026.1", "2026.1", "2026.2", v1alpha1.UpgradePhaseRollingUpdate, "", moveAbort, ""},
		"reverted while contracting":              {"2026.1", "2026.1", "2026.2", v1alpha1.UpgradePhaseContracting, "", moveAbort, ""},
		"reverted before its image":               {"2026.1", "2026.1", "2026.2", v1alpha1.UpgradePhaseRollingUpdate, "tag", moveAbort, ""},
		"a phase without an installed release":    {"", "2026.2", "2026.2", v1alpha1.UpgradePhaseMigrating, "", moveSync, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := next(upgradeState{installed: c.installed, wanted: c.wanted, phase: c.phase, target: c.target, mismatch: c.mismatch})
			if got.move != c.move || got.reason != c.reason || (got.message == "") != (c.reason == "") {
				t.Errorf("got %+v, want %s %s", got, c.move, c.reason)
			}
			if c.reason == v1alpha1.ReasonUpgradeTargetChanged && !(strings.Contains(got.message, c.target) && strings.Contains(got.message, "to abort")) {
				t.Errorf("the message %q does not say how to go on", got.message)
			}
		})
	}
}
