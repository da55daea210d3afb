// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// stopTimeout is what the operator may take to end after a SIGTERM.
const stopTimeout = 10 * time.Second

// QuickProbes are flags that make an outage show within seconds. A probe still has time for an answer from a busy machine:
// a suite must not take that for an outage.
func QuickProbes() []string {
	return []string{"--probe-interval=1s", "--probe-timeout=4s", "--probe-failures=2"}
}

// operators counts those that run.
var operators atomic.Int32

// Operator is the operator's process, outside the hub, with its account there.
type Operator struct {
	cmd *exec.Cmd
	// exited is closed once the process ended, with err set before.
	exited             chan struct{}
	err                error
	log                string
	metricsAt, probeAt string
	// WebhooksAt is the address that StartWithWebhooks chose for the webhooks.
	WebhooksAt string
}

// StartOperator starts the operator and waits until it is ready. It is stopped
// at the end of the test, which fails when it does not end in time, ends with an
// error, or met a data race.
func (l *Lab) StartOperator(t testing.TB, args ...string) *Operator {
	t.Helper()
	o := &Operator{exited: make(chan struct{}), metricsAt: freeAddress(t), probeAt: freeAddress(t)}
	f, err := os.CreateTemp(l.dir, "operator-*.log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o.log = f.Name()
	o.cmd = exec.Command(l.operator, append([]string{
		"--kubeconfig", l.Hub.AccountKubeconfig(), "--allow-local-targets", "--leader-elect=false", "--zap-stacktrace-level=panic",
		"--metrics-bind-address", o.metricsAt, "--health-probe-bind-address", o.probeAt,
	}, args...)...)
	o.cmd.Stdout, o.cmd.Stderr = f, f
	// The process must not outlive a test that is killed.
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := o.cmd.Start(); err != nil {
		t.Fatalf("start the operator: %v", err)
	}
	operators.Add(1)
	go func() {
		defer close(o.exited)
		defer operators.Add(-1)
		o.err = o.cmd.Wait()
	}()
	t.Cleanup(func() {
		o.Stop(t)
		if strings.Contains(o.Log(t), "WARNING: DATA RACE") {
			t.Errorf("the operator met a data race; see its log:\n%s", o.tail())
		}
		if t.Failed() {
			t.Logf("the operator's last words:\n%s", o.tail())
		}
	})
	Eventually(t, time.Minute, "the operator is ready", func(ctx context.Context) error {
		select {
		case <-o.exited:
			t.Fatalf("the operator ended: %v\n%s", o.err, o.tail())
		default:
		}
		_, err := get(ctx, "http://"+o.probeAt+"/readyz")
		return err
	})
	return o
}

// Stop asks the operator to end and waits for it. Stopping one that ended
// already, by Stop or Kill, does nothing.
func (o *Operator) Stop(t testing.TB) {
	t.Helper()
	select {
	case <-o.exited:
		return
	default:
	}
	_ = o.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-o.exited:
		if o.err != nil {
			t.Errorf("the operator ended with %v\n%s", o.err, o.tail())
		}
	case <-time.After(stopTimeout):
		o.Kill()
		t.Errorf("the operator did not end within %s of SIGTERM\n%s", stopTimeout, o.tail())
	}
}

// Alive says whether the process runs.
func (o *Operator) Alive() bool {
	select {
	case <-o.exited:
		return false
	default:
		return true
	}
}

// Kill ends the operator without a word.
func (o *Operator) Kill() {
	_ = o.cmd.Process.Kill()
	<-o.exited
}

// Log is all that the operator wrote so far.
func (o *Operator) Log(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(o.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Metrics scrapes /metrics.
func (o *Operator) Metrics(t testing.TB) string {
	t.Helper()
	body, err := get(t.Context(), "http://"+o.metricsAt+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func (o *Operator) tail() string {
	b, err := os.ReadFile(o.log)
	if err != nil {
		return err.Error()
	}
	const most = 16 << 10
	if len(b) > most {
		b = b[len(b)-most:]
		b = b[bytes.IndexByte(b, '\n')+1:]
	}
	return string(b)
}

func get(ctx context.Context, url string) (string, error) {
	// Long: it may be asked in the middle of an attack, on cores that others use as well.
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	// Compressing takes longer than sending, most of all under the race detector.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return string(body), err
}

// freeAddress is one that nobody listens on. The ports are above those that the kernel gives to outgoing connections: on a
// busy machine one of them would take the port before the process that it is meant for.
func freeAddress(t testing.TB) string {
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

// Path of a file in the lab's folder.
func (l *Lab) Path(elem ...string) string { return filepath.Join(append([]string{l.dir}, elem...)...) }
