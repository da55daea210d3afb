// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package layout names the files of a lab and its sockets.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// Dir is a lab's folder, absolute.
type Dir string

// New makes path absolute.
func New(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the lab's folder %s: %w", path, err)
	}
	return Dir(abs), nil
}

// Kubeconfig is the administrator's kubeconfig of a cluster.
func (d Dir) Kubeconfig(cluster string) string {
	return filepath.Join(string(d), cluster+".kubeconfig")
}

// AuditLog is the audit log of a cluster's API server, one JSON event a line.
func (d Dir) AuditLog(cluster string) string {
	return filepath.Join(string(d), "audit", cluster+".log")
}

// Log is the output of one program of a cluster.
func (d Dir) Log(cluster, program string) string {
	return filepath.Join(string(d), "logs", cluster, program+".log")
}

// Logs holds the output of every program.
func (d Dir) Logs() string { return filepath.Join(string(d), "logs") }

// SupervisorLog is the output of the supervisor.
func (d Dir) SupervisorLog() string { return filepath.Join(string(d), "logs", "supervisor.log") }

// EtcdLog is the output of etcd.
func (d Dir) EtcdLog() string { return filepath.Join(string(d), "logs", "etcd.log") }

// State holds what only a running lab needs: etcd's data, keys, configuration files.
func (d Dir) State() string { return filepath.Join(string(d), "state") }

// ClusterState is the part of State of one cluster.
func (d Dir) ClusterState(cluster string) string { return filepath.Join(d.State(), cluster) }

// RemoveState removes what is of no use without the processes, kubeconfigs included. Logs stay.
func (d Dir) RemoveState() error {
	kubeconfigs, err := filepath.Glob(filepath.Join(string(d), "*.kubeconfig"))
	if err != nil {
		return err
	}
	for _, path := range append(kubeconfigs, d.State()) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the lab's state: %w", err)
		}
	}
	return nil
}

// RemoveLogs removes the logs of an earlier lab, so that a reader never takes them for this one's.
func (d Dir) RemoveLogs() error {
	for _, name := range []string{"logs", "audit"} {
		if err := os.RemoveAll(filepath.Join(string(d), name)); err != nil {
			return fmt.Errorf("remove the lab's logs: %w", err)
		}
	}
	return nil
}

// socketPrefix begins the name of every socket of every lab.
//
// They live in the abstract namespace of unix sockets: nothing is left on disk when a supervisor is killed, names
// are not limited by the length of the folder's path, and binding the name of a folder that already has a lab fails.
const socketPrefix = "@cinder-lab/"

// ControlPrefix begins the names of the control sockets.
const ControlPrefix = socketPrefix + "control/"

// ControlSocket is where the supervisor of this folder listens. It follows from the folder alone.
func (d Dir) ControlSocket() string { return ControlPrefix + d.hash() }

// EgressSocket is where the lab answers for the pods and Services of a cluster.
func (d Dir) EgressSocket(cluster string) string {
	return socketPrefix + "egress/" + d.hash() + "/" + cluster
}

func (d Dir) hash() string {
	sum := sha256.Sum256([]byte(d))
	return hex.EncodeToString(sum[:])[:16]
}
