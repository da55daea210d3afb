// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"c5c3.io/cinder-operator/test/lab/internal/controlplane"
	"c5c3.io/cinder-operator/test/lab/internal/layout"
)

// TestOutages has edge-2 for itself: the other tests need their API servers.
func TestOutages(t *testing.T) {
	t.Parallel()
	const cluster = "edge-2"
	client := shared.client(t, cluster)
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	state := func() controlplane.State { return shared.status(t).Clusters[2].State }
	// Which deadline of a client ends first is a matter of chance.
	const timeouts = "Client.Timeout|deadline exceeded|TLS handshake timeout"
	begin := func(name string, want controlplane.State, clientSees string, command ...string) {
		t.Helper()
		shared.must(t, command...)
		if got := state(); got != want {
			t.Errorf("%s: the state is %s, want %s", name, got, want)
		}
		if err := askBriefly(t, cluster); err == nil || !containsOne(err.Error(), clientSees) {
			t.Errorf("%s: the client saw %v", name, err)
		}
		if _, err := shared.client(t, "hub").CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("%s: the hub suffers: %v", name, err)
		}
	}
	end := func(operation string) {
		t.Helper()
		shared.must(t, operation, cluster)
		if got := state(); got != controlplane.Running {
			t.Errorf("the state after %s is %s", operation, got)
		}
		if _, err := configMaps.Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
			t.Errorf("after %s: %v", operation, err)
		}
	}
	begin("a killed API server refuses connections", controlplane.Killed, "refused", "kill", cluster)
	end("start")

	begin("a paused API server does not answer", controlplane.Paused, timeouts, "pause", cluster)
	patient := commandsThatWait(t, cluster)
	end("resume")
	if err := <-patient; err != nil {
		t.Errorf("a command that an API server kept waiting: %v", err)
	}

	begin("a TCP hole completes no handshake", controlplane.HoleTCP, timeouts, "black-hole", cluster, "--kind", "tcp")
	begin("a TLS hole, in its place, answers no request", controlplane.HoleTLS, timeouts, "black-hole", cluster, "--kind", "tls")
	end("start")

	if _, err := shared.run("resume", cluster); err == nil || !strings.Contains(err.Error(), "it is running, not paused") {
		t.Errorf("resuming what runs: %v", err)
	}
	shared.apply(t, cluster, web)
	awaitWeb(t, client)
}

// askBriefly makes one request as clients do that the lab has not taught patience.
func askBriefly(t *testing.T, cluster string) error {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", layout.Dir(shared.dir).Kubeconfig(cluster))
	if err != nil {
		t.Fatal(err)
	}
	config.Timeout = time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), "kept", metav1.GetOptions{})
	return err
}

// commandsThatWait starts commands that need a cluster's API server, which does not answer, and returns when they
// have waited for longer than most clients do: a handshake is given up after ten seconds. In this process they would
// share its connections, and need no handshake.
func commandsThatWait(t *testing.T, cluster string) <-chan error {
	t.Helper()
	var commands errgroup.Group
	for _, args := range [][]string{
		{"crds", cluster, "vpa"},
		{"job-end", cluster, "--job", "patient"},
		{"account", cluster, "--namespace", "default", "--service-account", "default"},
	} {
		commands.Go(func() error {
			if out, err := shared.command(t.Context(), args...).CombinedOutput(); err != nil {
				return fmt.Errorf("lab %s: %w\n%s", strings.Join(args, " "), err, out)
			}
			return nil
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- commands.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("the commands ended although the API server was silent: %v", err)
		ended <- err
	case <-time.After(12 * time.Second):
	}
	return ended
}

func containsOne(text, alternatives string) bool {
	for alternative := range strings.SplitSeq(alternatives, "|") {
		if strings.Contains(text, alternative) {
			return true
		}
	}
	return false
}

// TestLabsLiveSideBySideAndEndCompletely ends a lab in the two ways in which nobody asks it to. How one ends that is
// asked to is seen on the shared lab, when all tests are done.
func TestLabsLiveSideBySideAndEndCompletely(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.mustUp(t, "--targets", "0", "--nodes", "none")
	list := b.must(t, "list")
	for _, dir := range []string{b.dir, shared.dir} {
		if !strings.Contains(list, dir+"\t") {
			t.Errorf("the list lacks %s:\n%s", dir, list)
		}
	}
	if _, err := b.up("--targets", "1", "--nodes", "none"); err == nil || !strings.Contains(err.Error(), "another lab runs") {
		t.Errorf("a different lab in the same folder: %v", err)
	}
	if out, err := b.up("--targets", "0", "--nodes", "none"); err != nil || !strings.Contains(out, "is up") {
		t.Errorf("the same lab again: %s %v", out, err)
	}

	// The kernel ends what a killed supervisor cannot, and the folder serves again.
	status := b.status(t)
	if err := syscall.Kill(status.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pids(status))
	if _, err := shared.kubectl("hub", "get", "namespaces"); err != nil {
		t.Errorf("the other lab suffers: %v", err)
	}
	for _, socket := range []string{status.Socket, layout.Dir(b.dir).EgressSocket("hub")} {
		// A process that is ended lets go of its files after its memory.
		eventually(t, "socket "+socket+" is free", func() (bool, string) {
			listener, err := net.Listen("unix", socket)
			if err != nil {
				return false, err.Error()
			}
			return listener.Close() == nil, ""
		})
	}

	owner := exec.Command("/bin/sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- owner.Wait() }()
	b.mustUp(t, "--targets", "0", "--nodes", "none", "--temporary", "--owner-pid", strconv.Itoa(owner.Process.Pid))
	status = b.status(t)
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
	up := b.command(ctx, "up", "--targets", "0", "--nodes", "none")
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
