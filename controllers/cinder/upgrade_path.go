// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// release is an OpenStack release: a year and its half, 1 or 2.
type release struct{ year, half int }

var releaseForm = regexp.MustCompile(`^(\d{4})\.([12])$`)

func parseRelease(s string) (release, bool) {
	m := releaseForm.FindStringSubmatch(s)
	if m == nil {
		return release{}, false
	}
	year, yearErr := strconv.Atoi(m[1])
	half, halfErr := strconv.Atoi(m[2])
	return release{year, half}, yearErr == nil && halfErr == nil
}

func (r release) following() release {
	if r.half == 1 {
		return release{r.year, 2}
	}
	return release{r.year + 1, 1}
}

func (r release) compare(other release) int {
	return cmp.Or(cmp.Compare(r.year, other.year), cmp.Compare(r.half, other.half))
}

func (r release) String() string { return fmt.Sprintf("%d.%d", r.year, r.half) }

// pathFault says why the wanted release cannot follow the installed one, as a
// reason and a message; empty when it can.
func pathFault(installed, wanted string) (reason, message string) {
	from, ok := parseRelease(installed)
	if !ok {
		return v1alpha1.ReasonVersionParseError, fmt.Sprintf("status.installedRelease %q is no release such as 2026.1", installed)
	}
	to, ok := parseRelease(wanted)
	if !ok {
		return v1alpha1.ReasonVersionParseError, fmt.Sprintf("spec.openStackRelease %q is no release such as 2026.1", wanted)
	}
	switch {
	case to.compare(from) < 0:
		return v1alpha1.ReasonDowngradeNotSupported, fmt.Sprintf(
			"release %s is installed and its schema cannot be taken back to %s: set spec.openStackRelease to %s again", from, to, from)
	case to != from.following():
		return v1alpha1.ReasonUpgradePathInvalid, fmt.Sprintf(
			"release %s is installed and %s skips a release: upgrade to %s first", from, to, from.following())
	}
	return "", ""
}
