// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"c5c3.io/cinder-operator/test/lab/internal/blackhole"
	"c5c3.io/cinder-operator/test/lab/internal/build"
	"c5c3.io/cinder-operator/test/lab/internal/layout"
	"c5c3.io/cinder-operator/test/lab/internal/process"
)

var errStopped = errors.New("it was stopped meanwhile")

// State is what answers on the address of a cluster's API server.
type State string

// The states of a cluster.
const (
	// Starting: its API server is not ready yet.
	Starting State = "starting"
	// Running: its API server answers.
	Running State = "running"
	// Paused: its API server is stopped in its tracks, connections stay open.
	Paused State = "paused"
	// Killed: nothing listens on the address.
	Killed State = "killed"
	// HoleTCP: the address accepts connections and never reads.
	HoleTCP State = "black-hole-tcp"
	// HoleTLS: the address completes TLS with the cluster's own certificate and stays silent.
	HoleTLS State = "black-hole-tls"
)

// Options say what a cluster is made of.
type Options struct {
	Name     string
	Dir      layout.Dir
	Spawner  *process.Spawner
	Binaries build.Binaries
	EtcdURL  string
	// Port is the API server's; it stays the same for the cluster's whole life.
	Port int
	// GCPercent is the API server's GOGC; zero leaves it to Go.
	GCPercent int
	// FakeNodes is the number of nodes that kwok plays. With zero there is neither kwok nor a scheduler.
	FakeNodes int
}

// Cluster is one control plane.
type Cluster struct {
	opts   Options
	creds  *credentials
	client *http.Client

	// slot admits one operation at a time. It is held across waits, so it is taken with a deadline.
	slot chan struct{}

	// mu guards what follows and is never held across I/O.
	mu        sync.Mutex
	state     State
	processes map[string]*process.Process
	hole      *blackhole.Hole
}

// New writes the keys and configuration files of a cluster. Nothing runs until Up.
func New(opts Options) (*Cluster, error) {
	c := &Cluster{
		opts:      opts,
		slot:      make(chan struct{}, 1),
		state:     Starting,
		processes: map[string]*process.Process{},
	}
	if err := os.MkdirAll(opts.Dir.ClusterState(opts.Name), 0o700); err != nil {
		return nil, fmt.Errorf("create the state folder of %s: %w", opts.Name, err)
	}
	var err error
	if c.creds, err = newCredentials(opts.Dir, opts.Name, opts.Port); err != nil {
		return nil, err
	}
	if c.client, err = c.creds.httpClient(); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", opts.Name, err)
	}
	if err := c.writeConfigs(); err != nil {
		return nil, err
	}
	return c, nil
}

// Name is the cluster's name.
func (c *Cluster) Name() string { return c.opts.Name }

// Server is the URL of the API server.
func (c *Cluster) Server() string { return c.creds.server }

// Up starts the programs for the first time and returns when the cluster is of use: its API server is ready, the
// controller manager has made the first ServiceAccount, and the nodes, if any, are ready.
func (c *Cluster) Up(ctx context.Context) error {
	return c.exclusively(ctx, "bring up", func() error {
		if err := c.startServing(ctx); err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return c.awaitServiceAccount(ctx) })
		if c.opts.FakeNodes > 0 {
			group.Go(func() error { return c.createNodes(ctx) })
		}
		return group.Wait()
	})
}

// exclusively runs one operation. Its error names the operation and the cluster.
func (c *Cluster) exclusively(ctx context.Context, verb string, operation func() error) error {
	select {
	case c.slot <- struct{}{}:
		defer func() { <-c.slot }()
	case <-ctx.Done():
		return fmt.Errorf("%s %s: wait for an earlier operation: %w", verb, c.opts.Name, ctx.Err())
	}
	if err := operation(); err != nil {
		return fmt.Errorf("%s %s: %w", verb, c.opts.Name, err)
	}
	return nil
}

// startServing starts the API server, waits until it is ready, and starts the programs beside it.
func (c *Cluster) startServing(ctx context.Context) error {
	c.setState(Starting)
	server, err := c.startProgram(programAPIServer, c.opts.Binaries.Path(programAPIServer), c.apiServerArgs(), c.apiServerEnv()...)
	if err != nil {
		return err
	}
	c.setProcess(programAPIServer, server)
	if err := c.awaitReady(ctx, server); err != nil {
		return err
	}
	if err := c.startCompanions(); err != nil {
		return err
	}
	c.setState(Running)
	return nil
}

func (c *Cluster) awaitReady(ctx context.Context, server *process.Process) error {
	ready := func(ctx context.Context) bool { return answersOK(ctx, c.client, c.creds.server+"/readyz") }
	if err := await(ctx, server, apiServerInterval, ready); err != nil {
		return fmt.Errorf("await /readyz: %w", err)
	}
	return nil
}

// startCompanions starts the clients of the API server. They are started anew with each of its starts: after an
// outage they would back off for up to a minute.
func (c *Cluster) startCompanions() error {
	type program struct {
		name, path string
		args       []string
	}
	programs := []program{{programControllerManager, c.opts.Binaries.Path(programControllerManager), c.controllerManagerArgs()}}
	if c.opts.FakeNodes > 0 {
		programs = append(programs,
			program{programScheduler, c.opts.Binaries.Path(programScheduler), c.schedulerArgs()},
			program{programKwok, c.opts.Binaries.Kwok, c.kwokArgs()})
	}
	for _, p := range programs {
		started, err := c.startProgram(p.name, p.path, p.args)
		if err != nil {
			return err
		}
		c.setProcess(p.name, started)
	}
	return nil
}

func (c *Cluster) setState(s State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = s
}

func (c *Cluster) currentState() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *Cluster) setProcess(program string, p *process.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes[program] = p
}

func (c *Cluster) process(program string) *process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[program]
}

// Status is a snapshot of a cluster.
type Status struct {
	Name       string         `json:"name"`
	State      State          `json:"state"`
	Server     string         `json:"server"`
	Port       int            `json:"port"`
	Kubeconfig string         `json:"kubeconfig"`
	AuditLog   string         `json:"auditLog"`
	PIDs       map[string]int `json:"pids"`
	// Problems are programs that ended although nobody stopped them.
	Problems []string `json:"problems,omitempty"`
}

// Status tells what runs.
func (c *Cluster) Status() Status {
	c.mu.Lock()
	state := c.state
	processes := make(map[string]*process.Process, len(c.processes))
	for program, p := range c.processes {
		processes[program] = p
	}
	c.mu.Unlock()

	status := Status{
		Name:       c.opts.Name,
		State:      state,
		Server:     c.creds.server,
		Port:       c.opts.Port,
		Kubeconfig: c.opts.Dir.Kubeconfig(c.opts.Name),
		AuditLog:   c.opts.Dir.AuditLog(c.opts.Name),
		PIDs:       map[string]int{},
	}
	for program, p := range processes {
		if p.Running() {
			status.PIDs[program] = p.PID()
		} else if err := p.Err(); err != nil {
			status.Problems = append(status.Problems, err.Error())
		}
	}
	return status
}
