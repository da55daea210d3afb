// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
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
}

// Lab is one hub with its targets, for the tests of one package.
type Lab struct {
	Hub     *Cluster
	Targets map[string]*Cluster

	root, dir, binary, operator string
}

// Cluster is one cluster of the lab, seen with an administrator's eyes.
type Cluster struct {
	Name       string
	Kubeconfig string
	// Client reads and writes live.
	Client client.Client
	Config *rest.Config

	lab *Lab
}

// Main brings a lab up, runs the tests with it in *lab, and takes it down. It is
// the body of a suite's TestMain and returns its exit code.
func Main(m *testing.M, opts Options, lab **Lab) int {
	l, err := up(opts)
	if l != nil {
		defer l.down()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bring up the lab: %v\n", err)
		return 1
	}
	*lab = l
	return m.Run()
}

func up(opts Options) (*Lab, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the lab: %w", err)
	}
	l := &Lab{root: root, dir: dir, binary: filepath.Join(dir, "bin", "lab"), operator: filepath.Join(dir, "bin", "cinder-operator"), Targets: map[string]*Cluster{}}
	for _, b := range []struct {
		program *string
		built   string // the variable that names it where the Makefile has built it for all suites
		in      string
		args    []string
	}{
		{&l.binary, "CINDER_E2E_LAB", filepath.Join(root, "test", "lab"), []string{"build", "-o", l.binary, "."}},
		{&l.operator, "CINDER_E2E_OPERATOR", root, []string{"build", "-race", "-o", l.operator, "./cmd/cinder-operator"}},
	} {
		if path := os.Getenv(b.built); path != "" {
			*b.program = path
			continue
		}
		if out, err := command(upTimeout, b.in, "go", b.args...); err != nil {
			return l, fmt.Errorf("go %s in %s: %w\n%s", strings.Join(b.args, " "), b.in, err, out)
		}
	}
	// The supervisor watches this process: a test that is killed leaves nothing.
	if out, err := l.runFor(upTimeout, "up", "--targets", strconv.Itoa(opts.Targets), "--nodes", "fake", "--owner-pid", strconv.Itoa(os.Getpid())); err != nil {
		return l, fmt.Errorf("%w\n%s", err, out)
	}
	if l.Hub, err = l.cluster(HubName); err != nil {
		return l, err
	}
	if err := l.prepareHub(); err != nil {
		return l, err
	}
	for i := range opts.Targets {
		name := fmt.Sprintf("edge-%d", i+1)
		if l.Targets[name], err = l.cluster(name); err != nil {
			return l, err
		}
		if err := l.Targets[name].prepareTarget(); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l *Lab) cluster(name string) (*Cluster, error) {
	path := filepath.Join(l.dir, name+".kubeconfig")
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", name, err)
	}
	cfg.QPS, cfg.Burst = 500, 1000
	cfg.Timeout = 30 * time.Second
	c, err := client.New(cfg, client.Options{Scheme: Scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", name, err)
	}
	return &Cluster{Name: name, Kubeconfig: path, Client: c, Config: cfg, lab: l}, nil
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
	cmd.Dir = dir
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
