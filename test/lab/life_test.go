// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"c5c3.io/cinder-operator/test/lab/internal/controlplane"
	"c5c3.io/cinder-operator/test/lab/internal/layout"
)

// TestOutages runs on a lab of its own: the other tests need the API servers of the shared one.
func TestOutages(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, "up", "--targets", "1", "--nodes-per-cluster", "1")
	if _, err := b.kubectl("edge-1", "create", "configmap", "kept"); err != nil {
		t.Fatal(err)
	}
	get := func() error {
		_, err := b.kubectl("edge-1", "get", "--raw", "/api/v1/namespaces/default/configmaps/kept", "--request-timeout=1s")
		return err
	}
	state := func() controlplane.State { return b.status(t).Clusters[1].State }
	// Which deadline of a client ends first is a matter of chance.
	const timeouts = "Client.Timeout|deadline exceeded|TLS handshake timeout"
	// Each kind of outage: how a client sees it, and that everything is back after it.
	for _, outage := range []struct {
		name      string
		begin     []string
		end       string
		state     controlplane.State
		clientSee string
	}{
		{"a killed API server refuses connections", []string{"kill", "edge-1"}, "start", controlplane.Killed, "refused"},
		{"a paused API server does not answer", []string{"pause", "edge-1"}, "resume", controlplane.Paused, timeouts},
		{"a TCP hole completes no handshake", []string{"black-hole", "edge-1", "--kind", "tcp"}, "start", controlplane.HoleTCP, timeouts},
		{"a TLS hole answers no request", []string{"black-hole", "edge-1", "--kind", "tls"}, "start", controlplane.HoleTLS, timeouts},
	} {
		b.must(t, outage.begin...)
		if got := state(); got != outage.state {
			t.Errorf("%s: the state is %s, want %s", outage.name, got, outage.state)
		}
		err := get()
		if err == nil || !containsOne(err.Error(), outage.clientSee) {
			t.Errorf("%s: the client saw %v", outage.name, err)
		}
		if _, err := b.kubectl("hub", "get", "namespaces"); err != nil {
			t.Errorf("%s: the hub suffers: %v", outage.name, err)
		}
		b.must(t, outage.end, "edge-1")
		if got := state(); got != controlplane.Running {
			t.Errorf("%s: the state afterwards is %s", outage.name, got)
		}
		if err := get(); err != nil {
			t.Errorf("%s: afterwards: %v", outage.name, err)
		}
	}
	if _, err := b.run("resume", "edge-1"); err == nil || !strings.Contains(err.Error(), "it is running, not paused") {
		t.Errorf("resuming what runs: %v", err)
	}
	// Controller manager, scheduler and kwok work again.
	b.apply(t, "edge-1", web)
	if _, err := b.kubectl("edge-1", "wait", "-n", "web", "--for=condition=Available", "deployment/web", "--timeout=60s"); err != nil {
		t.Error(err)
	}
}

func containsOne(text, alternatives string) bool {
	for alternative := range strings.SplitSeq(alternatives, "|") {
		if strings.Contains(text, alternative) {
			return true
		}
	}
	return false
}

func TestLabsLiveSideBySideAndLeaveNothing(t *testing.T) {
	t.Parallel()
	labs := []bed{newBed(t), newBed(t)}
	var group errgroup.Group
	for _, b := range labs {
		group.Go(func() error {
			_, err := b.run("up", "--targets", "0", "--nodes", "none")
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	list := labs[0].must(t, "list")
	for _, b := range append(labs, shared) {
		if !strings.Contains(list, b.dir+"\t") {
			t.Errorf("the list lacks %s:\n%s", b.dir, list)
		}
	}
	if _, err := labs[0].run("up", "--targets", "1", "--nodes", "none"); err == nil || !strings.Contains(err.Error(), "another lab runs") {
		t.Errorf("a different lab in the same folder: %v", err)
	}
	if out := labs[0].must(t, "up", "--targets", "0", "--nodes", "none"); !strings.Contains(out, "is up") {
		t.Errorf("the same lab again: %s", out)
	}
	processes := pids(labs[0].status(t))
	labs[0].must(t, "down")
	awaitGone(t, processes)
	left, err := filepath.Glob(filepath.Join(labs[0].dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if name := filepath.Base(path); name != "logs" && name != "audit" {
			t.Errorf("%s is left behind", name)
		}
	}
	if _, err := labs[0].run("status"); err == nil || !strings.Contains(err.Error(), "no lab runs in") {
		t.Errorf("the status after the end: %v", err)
	}
	labs[0].must(t, "down", "--purge")
	if left, _ := filepath.Glob(filepath.Join(labs[0].dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := labs[1].kubectl("hub", "get", "namespaces"); err != nil {
		t.Errorf("the other lab suffers: %v", err)
	}

	// The kernel ends what a killed supervisor cannot, and the folder serves again.
	status := labs[1].status(t)
	if err := syscall.Kill(status.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pids(status))
	for _, socket := range []string{status.Socket, layout.Dir(labs[1].dir).EgressSocket("hub")} {
		// A process that is ended lets go of its files after its memory.
		eventually(t, "socket "+socket+" is free", func() (bool, string) {
			listener, err := net.Listen("unix", socket)
			if err != nil {
				return false, err.Error()
			}
			return listener.Close() == nil, ""
		})
	}
	labs[1].must(t, "up", "--targets", "0", "--nodes", "none")
}

func TestALabEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	b := bed{dir: filepath.Join(t.TempDir(), "temporary")}
	owner := exec.Command("/bin/sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- owner.Wait() }()
	b.must(t, "up", "--targets", "0", "--nodes", "none", "--temporary", "--owner-pid", strconv.Itoa(owner.Process.Pid))
	status := b.status(t)
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	awaitGone(t, pids(status))
	if _, err := os.Stat(b.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left behind: %v", err)
	}
}

func TestAnInterruptedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	up := b.command(ctx, "up", "--targets", "1", "--nodes", "none")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	var processes []int
	eventually(t, "an API server starts", func() (bool, string) {
		status, err := b.run("status")
		if err != nil || !strings.Contains(status, "kube-apiserver") {
			return false, status
		}
		processes = pids(b.status(t))
		return true, ""
	})
	if err := up.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := up.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("the interrupted command ended with %v", err)
	}
	awaitGone(t, processes)
}
