// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs one etcd for a whole lab and the Kubernetes control plane of each of its clusters:
// API server, controller manager, and, where the lab has fake nodes, scheduler and kwok.
package controlplane
