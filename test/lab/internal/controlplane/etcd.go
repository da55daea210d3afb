// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"c5c3.io/cinder-operator/test/lab/internal/layout"
	"c5c3.io/cinder-operator/test/lab/internal/process"
)

// EtcdURL is where etcd serves on a port.
func EtcdURL(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }

// StartEtcd starts the one etcd of a lab, in which each cluster has a prefix. AwaitEtcd waits until it is healthy.
func StartEtcd(spawner *process.Spawner, dir layout.Dir, binary string, clientPort, peerPort int) (*process.Process, error) {
	client, peer := EtcdURL(clientPort), EtcdURL(peerPort)
	return spawner.Start(process.Spec{
		Name: "etcd",
		Path: binary,
		Args: []string{
			"--name=lab",
			"--data-dir=" + filepath.Join(dir.State(), "etcd"),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=lab=" + peer,
			// Nothing has to survive the machine.
			"--unsafe-no-fsync",
			"--auto-compaction-retention=5m",
			"--quota-backend-bytes=4294967296",
			"--log-level=warn",
		},
		Log: dir.EtcdLog(),
	})
}

// AwaitEtcd waits until etcd is healthy.
func AwaitEtcd(ctx context.Context, etcd *process.Process, port int) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	healthy := func(ctx context.Context) bool { return answersOK(ctx, client, EtcdURL(port)+"/health") }
	if err := await(ctx, etcd, etcdInterval, healthy); err != nil {
		return fmt.Errorf("await etcd's health: %w", err)
	}
	return nil
}

// These pace the waits for a starting program, none of which announces its readiness. Each question costs an API server
// a handshake and some forty checks, at the time when it has most to do.
const (
	etcdInterval      = 50 * time.Millisecond
	apiServerInterval = 200 * time.Millisecond
)

// answerTimeout bounds one question. An API server listens long before it serves: the first question mostly waits
// for that, which is cheaper than asking again.
const answerTimeout = 30 * time.Second

// await polls until ready answers true. It gives up when the process ends, with the end of its log, or with ctx.
func await(ctx context.Context, p *process.Process, interval time.Duration, ready func(context.Context) bool) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if ready(ctx) {
			return nil
		}
		select {
		case <-p.Done():
			if err := p.Err(); err != nil {
				return err
			}
			return errStopped
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// answersOK makes one request. Its deadline is for a connection that got lost.
func answersOK(ctx context.Context, client *http.Client, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	return resp.StatusCode == http.StatusOK
}
