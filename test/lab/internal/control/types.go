// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"c5c3.io/cinder-operator/test/lab/internal/controlplane"
	"c5c3.io/cinder-operator/test/lab/internal/egress"
)

// The paths of the control socket. Those with a cluster take it in place of {cluster}.
const (
	PathStatus    = "/v1/status"
	PathDown      = "/v1/down"
	PathOperation = "/v1/clusters/{cluster}/{operation}"
	PathBlackHole = "/v1/clusters/{cluster}/black-hole"
	PathHealth    = "/v1/clusters/{cluster}/health"
	PathWebhook   = "/v1/clusters/{cluster}/webhook"
)

// The operations without parameters.
const (
	Kill   = "kill"
	Start  = "start"
	Pause  = "pause"
	Resume = "resume"
)

// Status is the answer of PathStatus.
type Status struct {
	Dir string `json:"dir"`
	// PID is the supervisor's.
	PID int `json:"pid"`
	// Ready is false until everything has come up for the first time.
	Ready bool `json:"ready"`
	// Socket is the control socket; a leading "@" stands for the abstract namespace.
	Socket string `json:"socket"`
	// Assets serves envtest as KUBEBUILDER_ASSETS.
	Assets  string `json:"assets"`
	Targets int    `json:"targets"`
	Nodes   string `json:"nodes"`
	// NodesPerCluster is the number of fake nodes of each cluster.
	NodesPerCluster int       `json:"nodesPerCluster"`
	EtcdPID         int       `json:"etcdPID"`
	EtcdURL         string    `json:"etcdURL"`
	Clusters        []Cluster `json:"clusters"`
	Problems        []string  `json:"problems,omitempty"`
}

// Cluster is one cluster's part of the status.
type Cluster struct {
	controlplane.Status

	Health   []egress.Rule     `json:"health,omitempty"`
	Webhooks map[string]string `json:"webhooks,omitempty"`
}

// BlackHole is the body of PathBlackHole.
type BlackHole struct {
	// Kind is "tcp" or "tls".
	Kind string `json:"kind"`
}

// Health is the body of PathHealth.
type Health = egress.Rule

// Webhook is the body of PathWebhook.
type Webhook struct {
	// Service is NAMESPACE/NAME.
	Service string `json:"service"`
	// To is HOST:PORT on the host; empty ends the forwarding.
	To string `json:"to"`
}

// Failure is the body of every answer that is no success.
type Failure struct {
	Error string `json:"error"`
}
