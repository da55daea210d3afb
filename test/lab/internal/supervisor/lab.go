// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"c5c3.io/cinder-operator/test/lab/internal/build"
	"c5c3.io/cinder-operator/test/lab/internal/control"
	"c5c3.io/cinder-operator/test/lab/internal/controlplane"
	"c5c3.io/cinder-operator/test/lab/internal/egress"
	"c5c3.io/cinder-operator/test/lab/internal/jobend"
	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
	"c5c3.io/cinder-operator/test/lab/internal/layout"
	"c5c3.io/cinder-operator/test/lab/internal/ports"
	"c5c3.io/cinder-operator/test/lab/internal/process"
)

// Hub is the name of the first cluster.
const Hub = "hub"

// Target is the name of the i-th target, counted from one.
func Target(i int) string { return fmt.Sprintf("edge-%d", i) }

const (
	// NodesFake gives each cluster nodes played by kwok, and a scheduler.
	NodesFake = "fake"
	// NodesNone leaves pods Pending.
	NodesNone = "none"
)

// Options say what lab to run.
type Options struct {
	Dir      layout.Dir
	Binaries build.Binaries
	Targets  int
	// Nodes is NodesFake or NodesNone.
	Nodes string
	// NodesPerCluster is the number of fake nodes of each cluster.
	NodesPerCluster int
	// OwnerPID is a process with which the lab ends; zero means none.
	OwnerPID int
	// Temporary has the whole folder removed at the end.
	Temporary bool
}

// stopTimeout bounds the end of a lab. All of it is killed, so this only passes when the machine is in trouble.
const stopTimeout = 30 * time.Second

// lab is what the supervisor owns.
type lab struct {
	opts     Options
	spawner  *process.Spawner
	ports    ports.Allocator
	etcdPort int
	peerPort int
	clusters []*member

	// What follows is written while the control socket is served already.
	etcd  atomic.Pointer[process.Process]
	ready atomic.Bool
}

// member is one cluster with its egress.
type member struct {
	*controlplane.Cluster

	egress *egress.Proxy
}

// prepare takes what the lab needs and starts no program. What it took is the caller's to give back with stop, also
// after an error.
func (l *lab) prepare() error {
	names := []string{Hub}
	for i := range l.opts.Targets {
		names = append(names, Target(i+1))
	}
	// All ports are taken before the first program runs, so that none of them takes one of these.
	taken := make([]int, len(names)+2)
	for i := range taken {
		port, err := l.ports.Next()
		if err != nil {
			return err
		}
		taken[i] = port
	}
	l.etcdPort, l.peerPort = taken[0], taken[1]
	for i, name := range names {
		m, err := l.newMember(name, taken[i+2])
		if err != nil {
			return err
		}
		l.clusters = append(l.clusters, m)
	}
	return nil
}

// start brings everything up, the clusters side by side.
func (l *lab) start(ctx context.Context) error {
	etcd, err := controlplane.StartEtcd(l.spawner, l.opts.Dir, l.opts.Binaries.Path("etcd"), l.etcdPort, l.peerPort)
	if err != nil {
		return err
	}
	l.etcd.Store(etcd)
	if err := controlplane.AwaitEtcd(ctx, etcd, l.etcdPort); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, m := range l.clusters {
		group.Go(func() error { return l.bringUp(ctx, m) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	l.ready.Store(true)
	return nil
}

// gcPercent has the API servers of a small lab collect garbage less often: that saves a quarter of their start's CPU
// time for 100 MiB each, which a fleet has to do without.
func (l *lab) gcPercent() int {
	const small = 8
	if l.opts.Targets <= small {
		return 400
	}
	return 0
}

func (l *lab) newMember(name string, port int) (*member, error) {
	fakeNodes := 0
	if l.opts.Nodes == NodesFake {
		fakeNodes = l.opts.NodesPerCluster
	}
	cluster, err := controlplane.New(controlplane.Options{
		Name:      name,
		Dir:       l.opts.Dir,
		Spawner:   l.spawner,
		Binaries:  l.opts.Binaries,
		EtcdURL:   controlplane.EtcdURL(l.etcdPort),
		Port:      port,
		FakeNodes: fakeNodes,
		GCPercent: l.gcPercent(),
	})
	if err != nil {
		return nil, err
	}
	client, err := kubeclient.Typed(l.opts.Dir.Kubeconfig(name))
	if err != nil {
		return nil, err
	}
	proxy, err := egress.Start(l.opts.Dir.EgressSocket(name), client)
	if err != nil {
		return nil, err
	}
	return &member{Cluster: cluster, egress: proxy}, nil
}

// bringUp starts one cluster and, where pods run, lets the lab decide how Jobs end.
func (l *lab) bringUp(ctx context.Context, m *member) error {
	if err := m.Up(ctx); err != nil {
		return err
	}
	if l.opts.Nodes != NodesFake {
		return nil
	}
	if err := jobend.Install(ctx, l.opts.Dir.Kubeconfig(m.Name())); err != nil {
		return fmt.Errorf("bring up %s: %w", m.Name(), err)
	}
	return nil
}

// stop ends everything, etcd last so that no API server spends its last moment complaining, and removes the state,
// and with it the whole folder of a temporary lab unless its logs are to be kept.
func (l *lab) stop(keepLogs bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var group errgroup.Group
	for _, m := range l.clusters {
		group.Go(func() error {
			err := m.Stop(ctx)
			m.egress.Close()
			return err
		})
	}
	errs := []error{group.Wait()}
	if etcd := l.etcd.Load(); etcd != nil {
		errs = append(errs, etcd.Kill(ctx))
	}
	l.spawner.Close()
	l.ports.Close()
	remove := l.opts.Dir.RemoveState
	if l.opts.Temporary && !keepLogs {
		remove = l.opts.Dir.Remove
	}
	return errors.Join(append(errs, remove())...)
}

func (l *lab) find(name string) (*member, error) {
	known := make([]string, 0, len(l.clusters))
	for _, m := range l.clusters {
		if m.Name() == name {
			return m, nil
		}
		known = append(known, m.Name())
	}
	return nil, fmt.Errorf("there is no cluster %q, only %v", name, known)
}

func (l *lab) status() control.Status {
	status := control.Status{
		Dir:             string(l.opts.Dir),
		PID:             os.Getpid(),
		Socket:          l.opts.Dir.ControlSocket(),
		Assets:          l.opts.Binaries.Assets,
		Targets:         l.opts.Targets,
		Nodes:           l.opts.Nodes,
		NodesPerCluster: l.opts.NodesPerCluster,
		EtcdURL:         controlplane.EtcdURL(l.etcdPort),
		Ready:           l.ready.Load(),
	}
	if etcd := l.etcd.Load(); etcd != nil {
		if etcd.Running() {
			status.EtcdPID = etcd.PID()
		} else if err := etcd.Err(); err != nil {
			status.Problems = append(status.Problems, err.Error())
		}
	}
	for _, m := range l.clusters {
		status.Clusters = append(status.Clusters, control.Cluster{
			Status:   m.Status(),
			Health:   m.egress.Rules.List(),
			Webhooks: m.egress.Routes.List(),
		})
	}
	return status
}
