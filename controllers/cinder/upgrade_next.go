// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"fmt"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// upgradeState is all that the next move of the Database step is decided from.
type upgradeState struct {
	// installed is the promoted release; empty before the first one.
	installed string
	// wanted is what the spec says.
	wanted string
	// phase and target are of the upgrade that runs; empty when none does.
	phase  v1alpha1.UpgradePhase
	target string
	// mismatch says how the image disagrees with wanted; empty when it does not.
	mismatch string
}

// move is what the Database step does in a pass.
type move string

const (
	// moveSync keeps the schema of the installed release in step.
	moveSync move = "sync"
	// moveStart begins an upgrade to the wanted release.
	moveStart move = "start"
	// moveRun goes on with the phase that the status names.
	moveRun move = "run"
	// moveHold changes nothing until the spec does.
	moveHold move = "hold"
	// moveAbort gives the running upgrade up.
	moveAbort move = "abort"
)

// decision is a move and, of moveHold, why.
type decision struct {
	move            move
	reason, message string
}

// next decides the move. It depends on nothing but its argument, so that an
// operator that was restarted goes on where the status says.
func next(s upgradeState) decision {
	running := s.phase != "" && s.installed != ""
	switch {
	case running && s.wanted == s.installed:
		// Before the image is looked at: the way back must not depend on which of
		// the two fields was reverted first.
		return decision{move: moveAbort}
	case running && s.wanted != s.target:
		return decision{moveHold, v1alpha1.ReasonUpgradeTargetChanged, fmt.Sprintf(
			"an upgrade from %s to %s runs and spec.openStackRelease says %s: set it to %s to go on, or to %s to abort",
			s.installed, s.target, s.wanted, s.target, s.installed)}
	case s.mismatch != "":
		return decision{moveHold, v1alpha1.ReasonImageReleaseMismatch, s.mismatch}
	case running:
		return decision{move: moveRun}
	case s.installed == "" || s.installed == s.wanted:
		return decision{move: moveSync}
	}
	if reason, message := pathFault(s.installed, s.wanted); reason != "" {
		return decision{moveHold, reason, message}
	}
	return decision{move: moveStart}
}
