// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Command cinder-operator runs OpenStack Cinder for a fleet of clusters: it
// reads its custom resources on one hub and keeps their children on the target
// clusters that are registered there.
//
// This package wires and parses flags; it decides nothing.
package main
