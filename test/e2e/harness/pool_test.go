// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func takeFrom(t *testing.T, pool string, want int) *slot {
	t.Helper()
	s, err := takeSlot(pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.release)
	if dir := filepath.Join(pool, strconv.Itoa(want)); s.dir != dir {
		t.Fatalf("took %s, want %s", s.dir, dir)
	}
	return s
}

// leaveLab is what a suite does that brought a lab up and cleaned it.
func leaveLab(t *testing.T, s *slot) {
	t.Helper()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.leave(); err != nil {
		t.Fatal(err)
	}
	s.release()
}

func TestASlotBelongsToOneSuiteAtATime(t *testing.T) {
	pool := t.TempDir()
	first := takeFrom(t, pool, 1)
	second := takeFrom(t, pool, 2)
	takeFrom(t, pool, 3)
	second.release()
	takeFrom(t, pool, 2)
	first.release()
	takeFrom(t, pool, 1)
}

func TestALabThatWasLeftCleanIsTakenBeforeOneIsBroughtUp(t *testing.T) {
	pool := t.TempDir()
	first, second := takeFrom(t, pool, 1), takeFrom(t, pool, 2)
	first.release()
	leaveLab(t, second)
	again := takeFrom(t, pool, 2)
	if clean, err := again.soil(); !clean || err != nil {
		t.Fatalf("the lab is clean: %t, %v", clean, err)
	}
	// Whoever passed it must not have kept the first one.
	takeFrom(t, pool, 1)
}

func TestTheLabOfASuiteThatDiedIsNotUsedAgain(t *testing.T) {
	pool := t.TempDir()
	leaveLab(t, takeFrom(t, pool, 1))
	dies := takeFrom(t, pool, 1)
	if clean, err := dies.soil(); !clean || err != nil {
		t.Fatalf("the lab is clean: %t, %v", clean, err)
	}
	dies.release() // what the end of a process does
	if clean, err := takeFrom(t, pool, 1).soil(); clean || err != nil {
		t.Fatalf("the lab is clean: %t, %v", clean, err)
	}
}

func TestTheOwnerOfThePoolIsAProcess(t *testing.T) {
	pool := t.TempDir()
	if _, err := poolOwner(pool); err == nil {
		t.Error("a pool without an owner is used")
	}
	for text, want := range map[string]int{"42\n": 42, "nobody\n": 0} {
		if err := os.WriteFile(filepath.Join(pool, "owner"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if pid, err := poolOwner(pool); pid != want || (err == nil) != (want != 0) {
			t.Errorf("%q is owner %d, %v", text, pid, err)
		}
	}
}
