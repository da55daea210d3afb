// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusters is the registry of target clusters: it reads registrations, admits their kubeconfigs, keeps one
// connection per cluster, and answers Resolve from what it knows, never by a call.
//
// Registry is the provider of the multicluster-runtime manager. It does not engage its clusters with the manager's
// controllers: a watch made that way holds the controller's lock while it syncs, so that one silent cluster would stop
// every other one. Events of hub and targets reach the controllers through the sources Objects and Changes instead.
//
// Each registered cluster is a member: one goroutine that connects, probes and replaces the connection, and that alone
// writes the member's state. Readers load that state from an atomic pointer. No lock of this package is held across a
// call to any API server.
package clusters
