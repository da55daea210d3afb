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
	"slices"
)

const auditFolder = "audit"

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
	return filepath.Join(string(d), auditFolder, cluster+".log")
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
	return d.removeAll("remove the lab's state", append(kubeconfigs, d.State())...)
}

// RemoveLogs removes the logs.
func (d Dir) RemoveLogs() error {
	return d.removeAll("remove the lab's logs", d.Logs(), filepath.Join(string(d), auditFolder))
}

// Reset removes what an earlier lab left, so that a reader never takes its logs for this one's. The supervisor's log
// is emptied instead: it is being written to.
func (d Dir) Reset() error {
	if err := d.RemoveState(); err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(d.Logs(), "*"))
	if err != nil {
		return err
	}
	logs = slices.DeleteFunc(logs, func(path string) bool { return path == d.SupervisorLog() })
	if err := d.removeAll("remove an earlier lab's logs", append(logs, filepath.Join(string(d), auditFolder))...); err != nil {
		return err
	}
	if err := os.Truncate(d.SupervisorLog(), 0); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("empty the supervisor's log: %w", err)
	}
	return nil
}

// Remove removes the whole folder.
func (d Dir) Remove() error { return d.removeAll("remove the lab's folder", string(d)) }

func (Dir) removeAll(what string, paths ...string) error {
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("%s: %w", what, err)
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
