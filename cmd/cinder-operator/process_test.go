// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// process is the operator, run by this test binary in its place.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	out     *output
	exited  chan struct{}
	code    int
	metrics string
	health  string
}

// output collects what the process writes while the test reads it.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// freeAddress is one that nobody listens on, above the ports that the kernel gives to outgoing connections.
func freeAddress(t *testing.T) string {
	t.Helper()
	const lowest, highest = 61000, 65535
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest)))
		if err != nil {
			continue // taken
		}
		_ = l.Close()
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

// start runs the operator with the given flags. It is killed at the end of the
// test if it still runs then.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, out: &output{}, exited: make(chan struct{}), metrics: freeAddress(t), health: freeAddress(t)}
	p.cmd = exec.CommandContext(t.Context(), os.Args[0], append([]string{
		"--metrics-bind-address=" + p.metrics, "--health-probe-bind-address=" + p.health,
	}, args...)...)
	p.cmd.Env = append(withoutHub(os.Environ()), runMainEnv+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		err := p.cmd.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			p.code = exit.ExitCode()
		} else if err != nil {
			p.code = -1
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("the operator wrote:\n%s", p.out)
		}
	})
	return p
}

// withoutHub takes out of an environment what could lead to somebody's cluster.
func withoutHub(env []string) []string {
	out := []string{"HOME=/nonexistent"}
	for _, e := range env {
		if !strings.HasPrefix(e, "KUBECONFIG=") && !strings.HasPrefix(e, "HOME=") && !strings.HasPrefix(e, "KUBERNETES_SERVICE_") {
			out = append(out, e)
		}
	}
	return out
}

// wait waits for the process to end and answers its exit code.
func (p *process) wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.code
	case <-time.After(limit):
		p.t.Fatalf("the operator did not end within %s", limit)
		return 0
	}
}

// eventually asks url until its answer satisfies ok.
func (p *process) eventually(url string, ok func(status int, body string) bool) string {
	p.t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(p.t.Context(), 200*time.Millisecond, 60*time.Second, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.exited:
			return false, errors.New("the operator ended")
		default:
		}
		status, body, err := get(ctx, url)
		last = fmt.Sprintf("%d %v %s", status, err, body)
		return err == nil && ok(status, body), nil
	})
	if err != nil {
		p.t.Fatalf("%s: %v; the last answer: %.2000s", url, err, last)
	}
	return last
}

func get(ctx context.Context, url string) (int, string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}
