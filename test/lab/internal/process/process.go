// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

var errClosed = errors.New("the spawner is closed")

// Spec says what to run.
type Spec struct {
	// Name is how messages call the process, such as "kube-apiserver of edge-1".
	Name string
	// Path is the program, Args its arguments without the program's name.
	Path string
	Args []string
	// Log is the file that the output is appended to.
	Log string
	// Env is added to the supervisor's environment.
	Env []string
	// Dir is the working folder, the supervisor's by default.
	Dir string
}

// Process is one running child. It is never restarted; a new one takes its place.
type Process struct {
	spec    Spec
	cmd     *exec.Cmd
	done    chan struct{}
	err     error // valid once done is closed
	stopped atomic.Bool
}

// Start runs the program with its output appended to the log.
func (s *Spawner) Start(spec Spec) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	output, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	// The child keeps a descriptor of its own.
	defer output.Close()
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = output, output, spec.Dir
	// A session of its own keeps the terminal's interrupt away from it: the supervisor decides the order of the end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if err := s.start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	s.add(p)
	go func() {
		defer s.remove(p)
		p.wait()
	}()
	return p, nil
}

func (p *Process) wait() {
	p.err = p.cmd.Wait()
	close(p.done)
	if err := p.Err(); err != nil {
		log.Print(err)
	}
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running tells whether the child has not ended yet. A paused child runs.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err says why the child ended when nobody asked it to, with the last lines of its log. It is nil while the child
// runs and after Kill.
func (p *Process) Err() error {
	if p.Running() || p.stopped.Load() {
		return nil
	}
	reason := "exit status 0"
	if p.err != nil {
		reason = p.err.Error()
	}
	return fmt.Errorf("%s ended: %s; last lines of %s:\n%s", p.spec.Name, reason, p.spec.Log, Tail(p.spec.Log, 15))
}

// Kill ends the child at once and waits until it is gone or ctx ends. Nothing in a lab is worth a graceful end: its
// state is thrown away or, for an API server, lies in etcd.
func (p *Process) Kill(ctx context.Context) error {
	p.stopped.Store(true)
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.spec.Name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("kill %s: %w", p.spec.Name, ctx.Err())
	}
}

// Pause stops the child's execution: its connections stay open and silent.
func (p *Process) Pause() error { return p.signal("pause", syscall.SIGSTOP) }

// Resume lets a paused child go on.
func (p *Process) Resume() error { return p.signal("resume", syscall.SIGCONT) }

func (p *Process) signal(verb string, sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("%s %s: %w", verb, p.spec.Name, err)
	}
	return nil
}
