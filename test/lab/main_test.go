// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"c5c3.io/cinder-operator/test/lab/internal/cli"
	"c5c3.io/cinder-operator/test/lab/internal/control"
)

// actAsLab makes the test's own binary the lab's command line: the supervisor that it starts is then built with the
// race detector where the tests are.
const actAsLab = "LAB_TEST_ACT_AS_LAB"

// shared is the lab of the tests that do not end theirs.
var shared bed

func TestMain(m *testing.M) {
	if os.Getenv(actAsLab) != "" {
		os.Exit(cli.Main())
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lab-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	shared = bed{dir: filepath.Join(dir, "shared")}
	if out, err := shared.run("up", "--targets", "2", "--owner-pid", strconv.Itoa(os.Getpid())); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	code := m.Run()
	// The log goes with the folder.
	races := shared.races()
	if out, err := shared.run("down"); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		code = 1
	}
	if races = append(races, shared.races()...); len(races) > 0 {
		fmt.Fprintf(os.Stderr, "the supervisor has data races: %s\n", strings.Join(races, "\n"))
		code = 1
	}
	return code
}

// bed is one lab.
type bed struct {
	dir string
}

// newBed is a lab in a folder of the test's own, down when the test ends.
func newBed(t *testing.T) bed {
	t.Helper()
	b := bed{dir: t.TempDir()}
	t.Cleanup(func() {
		if races := b.races(); len(races) > 0 {
			t.Errorf("the supervisor has data races: %s", strings.Join(races, "\n"))
		}
		if out, err := b.run("down"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return b
}

// run runs one command of the lab and returns its standard output.
func (b bed) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := b.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("lab %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

func (b bed) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"--dir", b.dir}, args...)...)
	cmd.Env = append(os.Environ(), actAsLab+"=1")
	return cmd
}

// must runs one command that has to succeed.
func (b bed) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.run(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// kubectl runs kubectl on a cluster.
func (b bed) kubectl(cluster string, args ...string) (string, error) {
	return b.run(append([]string{"kubectl", cluster, "--"}, args...)...)
}

// apply creates objects from YAML.
func (b bed) apply(t *testing.T, cluster, manifests string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := b.command(ctx, "kubectl", cluster, "--", "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apply on %s: %v\n%s", cluster, err, out)
	}
}

func (b bed) status(t *testing.T) control.Status {
	t.Helper()
	var status control.Status
	if err := json.Unmarshal([]byte(b.must(t, "status")), &status); err != nil {
		t.Fatal(err)
	}
	return status
}

// pids are all processes of a lab: the supervisor, etcd, and the programs of each cluster.
func pids(status control.Status) []int {
	all := []int{status.PID, status.EtcdPID}
	for _, c := range status.Clusters {
		for _, pid := range c.PIDs {
			all = append(all, pid)
		}
	}
	return all
}

// awaitGone waits until none of the processes is there any more.
func awaitGone(t *testing.T, processes []int) {
	t.Helper()
	eventually(t, "the processes are gone", func() (bool, string) {
		var left []string
		for _, pid := range processes {
			if cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(cmdline) > 0 {
				left = append(left, strings.ReplaceAll(string(cmdline), "\x00", " "))
			}
		}
		return len(left) == 0, strings.Join(left, "\n")
	})
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, holds func() (bool, string)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 60*time.Second, true, func(context.Context) (bool, error) {
		ok, seen := holds()
		last = seen
		return ok, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; last seen: %s", what, err, last)
	}
}

// races finds reports of the race detector in the supervisor's log.
func (b bed) races() []string {
	log, err := os.ReadFile(filepath.Join(b.dir, "logs", "supervisor.log"))
	if err != nil || !bytes.Contains(log, []byte("DATA RACE")) {
		return nil
	}
	return []string{string(log)}
}
