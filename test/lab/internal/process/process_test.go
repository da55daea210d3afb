// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, s *Spawner, script string) *Process {
	t.Helper()
	p, err := s.Start(Spec{Name: "test", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "logs", "test.log")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func awaitEnd(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the process still runs after 10 s")
	}
}

func TestChildrenEndWithTheirSpawner(t *testing.T) {
	s := NewSpawner()
	p := start(t, s, "exec sleep 60")
	if !p.Running() {
		t.Fatal("the process has ended early")
	}
	s.Close()
	if p.Running() {
		t.Error("the process still runs")
	}
	if _, err := s.Start(Spec{Name: "late", Path: "/bin/true", Log: filepath.Join(t.TempDir(), "log")}); !errors.Is(err, errClosed) {
		t.Errorf("a start after Close: %v", err)
	}
}

func TestAnUnexpectedEndIsReportedWithTheEndOfTheLog(t *testing.T) {
	s := NewSpawner()
	defer s.Close()
	p := start(t, s, "echo first; echo bad flag >&2; exit 3")
	awaitEnd(t, p)
	err := p.Err()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"test ended", "exit status 3", "bad flag", "test.log"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

func TestAKilledProcessIsGoneAndIsNoError(t *testing.T) {
	s := NewSpawner()
	defer s.Close()
	p := start(t, s, "trap '' TERM; exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if p.Running() || p.Err() != nil {
		t.Errorf("running: %v, error: %v", p.Running(), p.Err())
	}
	if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", p.PID(), err)
	}
	if err := p.Kill(ctx); err != nil {
		t.Errorf("a second kill: %v", err)
	}
}

func TestTailKeepsTheLastLines(t *testing.T) {
	s := NewSpawner()
	defer s.Close()
	p := start(t, s, "seq 1 5000")
	awaitEnd(t, p)
	if got := Tail(p.spec.Log, 2); got != "4999\n5000" {
		t.Errorf("the tail is %q", got)
	}
	if got := Tail(p.spec.Log+".none", 2); !strings.Contains(got, "no such file") {
		t.Errorf("the tail of no file is %q", got)
	}
}
