// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os/signal"
	"syscall"
	"time"

	"c5c3.io/cinder-operator/test/lab/internal/abstract"
	"c5c3.io/cinder-operator/test/lab/internal/process"
)

// Report is what the supervisor writes to its starter, once: that everything is ready, or why not.
type Report struct {
	Error string `json:"error,omitempty"`
}

// startTimeout bounds bringing everything up.
const startTimeout = 5 * time.Minute

// Run is the supervisor's life: it brings the lab up, writes the report, serves the control socket, and returns when
// the lab has ended, by request, by a signal or with its owner. It fails if the lab did not come up.
func Run(opts Options, report io.WriteCloser) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer cancel()
	return run(ctx, opts, func(err error) error {
		defer report.Close()
		r := Report{}
		if err != nil {
			r.Error = err.Error()
		}
		return json.NewEncoder(report).Encode(r)
	})
}

func run(ctx context.Context, opts Options, report func(error) error) (err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)

	// First of all: whoever holds this name owns the folder.
	listener, err := abstract.Listen(opts.Dir.ControlSocket())
	if err != nil {
		err = fmt.Errorf("claim %s (does a lab run there?): %w", opts.Dir, err)
		return errors.Join(err, report(err))
	}
	defer listener.Close()

	// An earlier lab may have been killed.
	if err := opts.Dir.Reset(); err != nil {
		return errors.Join(err, report(err))
	}
	if opts.OwnerPID != 0 {
		watch, err := watchProcess(ctx, opts.OwnerPID, func() { end(errOwnerGone) })
		if err != nil {
			return errors.Join(err, report(err))
		}
		defer watch.Wait()
		defer end(nil)
	}
	l := &lab{opts: opts, spawner: process.NewSpawner()}
	if err := l.prepare(); err != nil {
		err = errors.Join(err, l.stop(true))
		return errors.Join(err, report(err))
	}
	// Served from the beginning, so that a lab that does not come up can be asked and ended.
	server := newServer(ctx, l, func() { end(errAskedToEnd) })
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(listener) }()

	if err := l.bringAllUp(ctx); err != nil {
		// The logs tell why; after an order to end nobody asks.
		err = errors.Join(err, l.stop(ctx.Err() == nil))
		return errors.Join(err, report(err), server.Close())
	}
	log.Printf("the lab in %s is up", opts.Dir)
	if err := report(nil); err != nil {
		// Nobody waits for the lab any more, so nobody would end it either.
		end(fmt.Errorf("tell the starter that the lab is up: %w", err))
	}
	select {
	case err = <-serving:
		err = fmt.Errorf("serve the control socket: %w", err)
	case <-ctx.Done():
		log.Printf("ending: %v", context.Cause(ctx))
	}
	err = errors.Join(err, l.stop(false))
	// Last, so that a client that sees the socket closed finds nothing left. Requests in progress end with it.
	return errors.Join(err, server.Close())
}

// bringAllUp is start with a deadline. Its error tells when it was an order to end that cut it short.
func (l *lab) bringAllUp(ctx context.Context) error {
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := l.start(starting)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

var (
	errAskedToEnd = errors.New("asked to")
	errOwnerGone  = errors.New("the owner has ended")
)
