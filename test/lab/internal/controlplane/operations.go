// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"c5c3.io/cinder-operator/test/lab/internal/blackhole"
	"c5c3.io/cinder-operator/test/lab/internal/process"
)

// Kill ends the API server without warning, and the programs that only talk to it. Afterwards nothing listens on
// its address. What it stored is kept.
func (c *Cluster) Kill(ctx context.Context) error {
	return c.exclusively(ctx, "kill", func() error {
		if err := c.vacate(ctx); err != nil {
			return err
		}
		c.setState(Killed)
		return nil
	})
}

// Start brings a killed cluster or a black hole back on the same address and returns when it is ready. A cluster
// that runs stays as it is.
func (c *Cluster) Start(ctx context.Context) error {
	return c.exclusively(ctx, "start", func() error {
		switch c.currentState() {
		case Running:
			return nil
		case Paused:
			return fmt.Errorf("it is paused, resume it instead")
		}
		// Also after a start that failed half-way.
		if err := c.vacate(ctx); err != nil {
			return err
		}
		return c.startServing(ctx)
	})
}

// Pause stops the API server's execution: its connections stay open and silent, new ones are accepted by the kernel
// alone.
func (c *Cluster) Pause(ctx context.Context) error {
	return c.exclusively(ctx, "pause", func() error {
		if state := c.currentState(); state != Running {
			return fmt.Errorf("it is %s, not %s", state, Running)
		}
		if err := c.process(programAPIServer).Pause(); err != nil {
			return err
		}
		c.setState(Paused)
		return nil
	})
}

// Resume lets a paused API server go on and returns when it is ready.
func (c *Cluster) Resume(ctx context.Context) error {
	return c.exclusively(ctx, "resume", func() error {
		if state := c.currentState(); state != Paused {
			return fmt.Errorf("it is %s, not %s", state, Paused)
		}
		server := c.process(programAPIServer)
		if err := server.Resume(); err != nil {
			return err
		}
		if err := c.awaitReady(ctx, server); err != nil {
			return err
		}
		if err := c.stop(ctx, programControllerManager, programScheduler, programKwok); err != nil {
			return err
		}
		if err := c.startCompanions(); err != nil {
			return err
		}
		c.setState(Running)
		return nil
	})
}

// BlackHole replaces the API server by something that accepts connections and never answers, on the same address.
func (c *Cluster) BlackHole(ctx context.Context, state State) error {
	return c.exclusively(ctx, "open the black hole of", func() error {
		if err := c.vacate(ctx); err != nil {
			return err
		}
		c.setState(Killed)
		address := fmt.Sprintf("127.0.0.1:%d", c.opts.Port)
		var hole *blackhole.Hole
		var err error
		switch state {
		case HoleTCP:
			hole, err = blackhole.TCP(ctx, address)
		case HoleTLS:
			hole, err = blackhole.TLS(ctx, address, c.creds.serving)
		default:
			return fmt.Errorf("unknown kind %q", state)
		}
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hole = hole
		c.state = state
		return nil
	})
}

// Stop ends everything that belongs to the cluster.
func (c *Cluster) Stop(ctx context.Context) error {
	return c.exclusively(ctx, "stop", func() error {
		c.setState(Killed)
		return c.vacate(ctx)
	})
}

// vacate frees the API server's address: it closes a black hole and ends every program.
func (c *Cluster) vacate(ctx context.Context) error {
	c.mu.Lock()
	hole := c.hole
	c.hole = nil
	c.mu.Unlock()
	if hole != nil {
		if err := hole.Close(); err != nil {
			return err
		}
	}
	return c.stop(ctx, programAPIServer, programControllerManager, programScheduler, programKwok)
}

func (c *Cluster) stop(ctx context.Context, programs ...string) error {
	c.mu.Lock()
	var running []*process.Process
	for _, program := range programs {
		if p := c.processes[program]; p != nil {
			running = append(running, p)
			delete(c.processes, program)
		}
	}
	c.mu.Unlock()
	var group errgroup.Group
	for _, p := range running {
		group.Go(func() error { return p.Kill(ctx) })
	}
	return group.Wait()
}
