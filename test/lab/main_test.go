// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"c5c3.io/cinder-operator/test/lab/internal/cli"
	"c5c3.io/cinder-operator/test/lab/internal/control"
	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
	"c5c3.io/cinder-operator/test/lab/internal/layout"
)

// actAsLab makes the test's own binary the lab's command line: the supervisor that it starts is then built with the
// race detector where the tests are.
const actAsLab = "LAB_TEST_ACT_AS_LAB"

// commandTimeout bounds one command of the lab.
const commandTimeout = 5 * time.Minute

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
	out, err := shared.up("--targets", "2", "--nodes-per-cluster", "2", "--owner-pid", strconv.Itoa(os.Getpid()))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	// Most tests wait most of the time: they need no core each.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := shared.downLeavesNothing(); err != nil {
		fmt.Fprintln(os.Stderr, err)
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

// run runs one command of the lab in this process, which saves the start of one, and returns its standard output.
func (b bed) run(args ...string) (string, error) { return b.runWith("", args...) }

func (b bed) runWith(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	lab := cli.New()
	lab.SetArgs(append([]string{"--dir", b.dir}, args...))
	lab.SetIn(strings.NewReader(stdin))
	lab.SetOut(&stdout)
	lab.SetErr(&stderr)
	if err := lab.ExecuteContext(ctx); err != nil {
		return stdout.String(), fmt.Errorf("lab %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// up brings the lab up as people do, by a process that leaves the supervisor behind.
func (b bed) up(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	out, err := b.command(ctx, append([]string{"up"}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("lab up %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// command is one command of the lab, to be run as a process of its own.
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

// mustUp brings up a lab that has to come up.
func (b bed) mustUp(t *testing.T, args ...string) {
	t.Helper()
	if _, err := b.up(args...); err != nil {
		t.Fatal(err)
	}
}

// client asks a cluster's API server, from this process.
func (b bed) client(t *testing.T, cluster string) kubernetes.Interface {
	t.Helper()
	client, err := kubeclient.Typed(layout.Dir(b.dir).Kubeconfig(cluster))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// kubectl runs kubectl on a cluster.
func (b bed) kubectl(cluster string, args ...string) (string, error) {
	return b.run(append([]string{"kubectl", cluster, "--"}, args...)...)
}

// apply creates objects from YAML.
func (b bed) apply(t *testing.T, cluster, manifests string) {
	t.Helper()
	if _, err := b.runWith(manifests, "kubectl", cluster, "--", "apply", "-f", "-"); err != nil {
		t.Fatal(err)
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

// downLeavesNothing ends a lab and looks for what it leaves: its logs, until they are purged too.
func (b bed) downLeavesNothing() error {
	out, err := b.run("status")
	if err != nil {
		return err
	}
	var status control.Status
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		return err
	}
	if _, err := b.run("down"); err != nil {
		return err
	}
	// All but the supervisor, which closes its socket just before it ends.
	if left := alive(pids(status)[1:]); len(left) > 0 {
		return fmt.Errorf("left running:\n%s", strings.Join(left, "\n"))
	}
	for _, path := range b.files() {
		if name := filepath.Base(path); name != "logs" && name != "audit" {
			return fmt.Errorf("%s is left behind", name)
		}
	}
	if _, err := b.run("status"); !errors.Is(err, control.ErrNotRunning) {
		return errors.Join(errors.New("the status after the end is not that none runs"), err)
	}
	if races := b.races(); len(races) > 0 {
		return fmt.Errorf("the supervisor has data races: %s", strings.Join(races, "\n"))
	}
	if _, err := b.run("down", "--purge"); err != nil {
		return err
	}
	if left := b.files(); len(left) > 0 {
		return fmt.Errorf("left behind: %v", left)
	}
	return nil
}

func (b bed) files() []string {
	// Only a wrong pattern is an error.
	files, _ := filepath.Glob(filepath.Join(b.dir, "*"))
	return files
}

// awaitGone waits until none of the processes is there any more.
func awaitGone(t *testing.T, processes []int) {
	t.Helper()
	eventually(t, "the processes are gone", func() (bool, string) {
		left := alive(processes)
		return len(left) == 0, strings.Join(left, "\n")
	})
}

// alive returns the command lines of those of the processes that run.
func alive(processes []int) []string {
	var running []string
	for _, pid := range processes {
		if cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(cmdline) > 0 {
			running = append(running, strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return running
}

// eventually polls until the condition holds. What takes a second takes a minute on a machine that tests other things.
func eventually(t *testing.T, what string, holds func() (bool, string)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
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
