// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNotesStayWithinWhatTheAPIAdmits(t *testing.T) {
	t.Parallel()
	var items []string
	for i := range 200 {
		items = append(items, fmt.Sprintf("Deployment cinder-volume-backend-%d", i))
	}
	note := listNote("left behind:", items)
	if len(note) > maxNote || !strings.HasPrefix(note, "left behind: Deployment cinder-volume-backend-0, ") {
		t.Errorf("note of %d bytes: %s", len(note), note)
	}
	shown := strings.Count(note, "Deployment")
	if !strings.HasSuffix(note, fmt.Sprintf(" and %d more", len(items)-shown)) {
		t.Errorf("note ends in %q after %d items", note[len(note)-20:], shown)
	}
	if got := listNote("left behind:", items[:2]); strings.Contains(got, "more") {
		t.Errorf("a short list became %q", got)
	}
	if got := cutNote(strings.Repeat("é", 600)); len(got) > maxNote || !utf8.ValidString(got) {
		t.Errorf("cut to %d bytes, valid %v", len(got), utf8.ValidString(got))
	}
}
