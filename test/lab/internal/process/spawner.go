// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"sync"
)

// Spawner starts children that the kernel kills when this process ends.
//
// The kernel ties a child's parent-death signal to the thread that started it, not to the process. All children are
// therefore started by one goroutine that keeps its thread until Close: on an ordinary goroutine the runtime could
// end the thread, and with it a running API server.
type Spawner struct {
	requests chan request
	done     chan struct{}
	closing  sync.Once

	mu      sync.Mutex // guards running
	running map[*Process]struct{}
}

type request struct {
	cmd   *exec.Cmd
	reply chan error
}

// NewSpawner starts the goroutine, which Close ends.
func NewSpawner() *Spawner {
	s := &Spawner{requests: make(chan request), done: make(chan struct{}), running: map[*Process]struct{}{}}
	go s.run()
	return s
}

func (s *Spawner) run() {
	// Never unlocked: the thread ends with the goroutine.
	runtime.LockOSThread()
	for {
		select {
		case r := <-s.requests:
			r.reply <- r.cmd.Start()
		case <-s.done:
			return
		}
	}
}

func (s *Spawner) start(cmd *exec.Cmd) error {
	r := request{cmd: cmd, reply: make(chan error, 1)}
	select {
	case s.requests <- r:
		return <-r.reply
	case <-s.done:
		return errClosed
	}
}

// Close kills every child that still runs, waits until they are gone, and ends the goroutine. It does not count on
// the kernel, which kills nothing if the goroutine's thread happens to be the process's first: that one never ends.
func (s *Spawner) Close() {
	s.closing.Do(func() {
		close(s.done)
		s.mu.Lock()
		running := slices.Collect(maps.Keys(s.running))
		s.mu.Unlock()
		for _, p := range running {
			// Its context has no end: the kernel does not refuse this signal.
			_ = p.Kill(context.Background())
		}
	})
}

func (s *Spawner) add(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[p] = struct{}{}
}

func (s *Spawner) remove(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, p)
}
