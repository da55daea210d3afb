// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"runtime"
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
}

type request struct {
	cmd   *exec.Cmd
	reply chan error
}

// NewSpawner starts the goroutine. Close ends it, and with it every child that still runs.
func NewSpawner() *Spawner {
	s := &Spawner{requests: make(chan request), done: make(chan struct{})}
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

// Close ends the goroutine and its thread. Children that still run are killed by the kernel.
func (s *Spawner) Close() {
	s.closing.Do(func() { close(s.done) })
}
