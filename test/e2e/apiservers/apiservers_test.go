// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package apiservers

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
)

// actAsServer makes this binary tell how it runs, as a program that a suite starts.
const actAsServer = "APISERVERS_TEST_ACT_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(actAsServer) != "" {
		fmt.Printf("cores %d, garbage %d", runtime.GOMAXPROCS(0), debug.SetGCPercent(100))
		return
	}
	os.Exit(m.Run())
}

func TestWhatIsStartedTakesLessOfTheMachine(t *testing.T) {
	for _, name := range []string{"GOGC", cores} {
		t.Setenv(name, "") // which is set back at the end
	}
	if got := started(t, OneCore, "GOGC=70"); got != "cores 1, garbage 70" {
		t.Errorf("with %s alone: %s", OneCore, got)
	}
	if err := Frugal(); err != nil {
		t.Fatal(err)
	}
	if got := started(t); got != "cores 1, garbage 400" {
		t.Errorf("frugal: %s", got)
	}
}

func started(t *testing.T, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), actAsServer+"=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
