// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/test/e2e/apiservers"
)

const (
	// HubName is the lab's name of the management cluster.
	HubName = "hub"
	// ClustersNamespace holds the registrations on the hub.
	ClustersNamespace = "c5c3-clusters"
	// SystemNamespace holds the operator's account on every cluster.
	SystemNamespace = "c5c3-system"
	// account is the operator's ServiceAccount.
	account = "cinder-operator"

	upTimeout      = 20 * time.Minute // a cold cache builds the control planes first
	commandTimeout = 2 * time.Minute
)

// Options say what a suite's lab looks like.
type Options struct {
	// Targets is how many target clusters there are: edge-1, edge-2, ...
	Targets int
	// Spoils: the suite gives clusters CRDs or webhooks, so its lab is not left to
	// others.
	Spoils bool
}

// Lab is one hub with its targets, for the tests of one package.
type Lab struct {
	Hub     *Cluster
	Targets map[string]*Cluster

	root, dir, binary, operator string
	// slot is the lab's place in the pool; nil for a lab that goes with its suite.
	slot *slot
}

// Cluster is one cluster of the lab, seen with an administrator's eyes.
type Cluster struct {
	Name       string
	Kubeconfig string
	// Client reads and writes live.
	Client client.Client
	Config *rest.Config

	lab     *Lab
	watcher client.WithWatch
	// begin is the size that the audit log had, and had are the objects that were
	// there, when the suite took the cluster.
	begin int64
	had   map[object]bool
}

// Main brings a lab up, or takes one that another suite left, runs the tests with
// it in *lab, and takes it down or leaves it to the next suite. It is the body of
// a suite's TestMain and returns its exit code.
func Main(m *testing.M, opts Options, lab **Lab) int {
	l, err := take(opts)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bring up the lab: %v\n", err)
		if l != nil {
			l.down()
		}
		return 1
	}
	*lab = l
	code := m.Run()
	if l.slot == nil || opts.Spoils {
		l.down()
	} else {
		l.leave(code == 0)
	}
	return code
}

// leave leaves a lab of the pool to the next suite, unless the tests spoiled it.
func (l *Lab) leave(passed bool) {
	err := errors.New("a test failed")
	if passed {
		err = l.clean()
	}
	if err == nil {
		err = l.slot.leave()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "the lab in %s is not left to another suite: %v\n", l.dir, err)
		l.down()
	}
}

// take is the suite's lab. With an error as well, it is to be taken down.
func take(opts Options) (*Lab, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	l := &Lab{root: root, Targets: map[string]*Cluster{}}
	owner, targets := os.Getpid(), opts.Targets
	if pool := os.Getenv(poolVariable); pool != "" && opts.Targets <= pooledTargets {
		if owner, err = poolOwner(pool); err != nil {
			return nil, err
		}
		if l.slot, err = takeSlot(pool); err != nil {
			return nil, err
		}
		l.dir = l.slot.dir
		if !opts.Spoils {
			targets = pooledTargets
		}
	} else if l.dir, err = os.MkdirTemp("", "e2e-"); err != nil {
		return nil, fmt.Errorf("make a folder for the lab: %w", err)
	}
	if err := l.build(); err != nil {
		return l, err
	}
	if err := l.up(targets, owner); err != nil {
		return l, err
	}
	err = l.prepare(opts.Targets)
	return l, err
}

// build finds or builds the programs that the suite runs.
func (l *Lab) build() error {
	l.binary, l.operator = filepath.Join(l.dir, "bin", "lab"), filepath.Join(l.dir, "bin", "cinder-operator")
	for _, b := range []struct {
		program *string
		built   string // the variable that names it where the Makefile has built it for all suites
		in      string
		args    []string
	}{
		{&l.binary, "CINDER_E2E_LAB", filepath.Join(l.root, "test", "lab"), []string{"build", "-o", l.binary, "."}},
		{&l.operator, "CINDER_E2E_OPERATOR", l.root, []string{"build", "-race", "-o", l.operator, "./cmd/cinder-operator"}},
	} {
		if path := os.Getenv(b.built); path != "" {
			*b.program = path
			continue
		}
		if out, err := command(upTimeout, b.in, "go", b.args...); err != nil {
			return fmt.Errorf("go %s in %s: %w\n%s", strings.Join(b.args, " "), b.in, err, out)
		}
	}
	return nil
}

// up brings the lab up unless another suite left it running. The supervisor
// watches the owner: a process that is killed leaves nothing.
func (l *Lab) up(targets, owner int) error {
	if l.slot != nil {
		if clean, err := l.slot.soil(); clean || err != nil {
			return err
		}
		// There may be one of a suite that died.
		if out, err := l.runFor(commandTimeout, "down"); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	if out, err := l.runFor(upTimeout, "up", "--targets", strconv.Itoa(targets), "--nodes", "fake", "--owner-pid", strconv.Itoa(owner)); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// prepare gives the operator what it needs on the clusters.
func (l *Lab) prepare(targets int) error {
	var err error
	if l.Hub, err = l.cluster(HubName); err != nil {
		return err
	}
	if err := l.Hub.take(l.prepareHub); err != nil {
		return err
	}
	for i := range targets {
		name := fmt.Sprintf("edge-%d", i+1)
		if l.Targets[name], err = l.cluster(name); err != nil {
			return err
		}
		if err := l.Targets[name].take(l.Targets[name].prepareTarget); err != nil {
			return err
		}
	}
	return nil
}

// take prepares the cluster and remembers what is to be there at the end.
func (c *Cluster) take(prepare func() error) error {
	info, err := os.Stat(c.auditLog())
	if err != nil {
		return fmt.Errorf("find the audit log of %s: %w", c.Name, err)
	}
	c.begin = info.Size()
	if err := prepare(); err != nil || c.lab.slot == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	c.had, err = c.inventory(ctx)
	return err
}

func (l *Lab) cluster(name string) (*Cluster, error) {
	path := filepath.Join(l.dir, name+".kubeconfig")
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", name, err)
	}
	cfg.QPS, cfg.Burst = 500, 1000
	cfg.Timeout = 30 * time.Second
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: Scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", name, err)
	}
	return &Cluster{Name: name, Kubeconfig: path, Client: c, Config: cfg, lab: l, watcher: c}, nil
}

func (l *Lab) down() {
	if out, err := l.runFor(commandTimeout, "down"); err != nil {
		fmt.Fprintf(os.Stderr, "take down the lab: %v\n%s", err, out)
	}
	if err := os.RemoveAll(l.dir); err != nil {
		fmt.Fprintf(os.Stderr, "remove the lab's folder: %v\n", err)
	}
}

// Run runs one command of the lab and returns what it printed. A failure ends
// the test.
func (l *Lab) Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := l.runFor(commandTimeout, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// Command runs one command of the lab, for a caller that is not the test's own
// goroutine.
func (l *Lab) Command(args ...string) error {
	out, err := l.runFor(commandTimeout, args...)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func (l *Lab) runFor(d time.Duration, args ...string) (string, error) {
	// In front: behind a "--" of kubectl the flag would be its own.
	args = append([]string{"--dir", l.dir}, args...)
	out, err := command(d, l.root, l.binary, args...)
	if err != nil {
		err = fmt.Errorf("lab %s: %w", strings.Join(args, " "), err)
	}
	return out, err
}

func command(d time.Duration, dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), apiservers.OneCore)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// A background child that keeps the pipe open must not hold the test.
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	return out.String(), err
}

func repository() (string, error) {
	out, err := command(commandTimeout, "", "go", "env", "GOMOD")
	if err != nil {
		return "", fmt.Errorf("find the repository: %w\n%s", err, out)
	}
	return filepath.Dir(strings.TrimSpace(out)), nil
}
