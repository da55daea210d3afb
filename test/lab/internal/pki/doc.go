// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the keys and certificates of one cluster, each cluster with an authority of its own, and the
// kubeconfigs that carry them inline.
package pki
