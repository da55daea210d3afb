// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package cinder reconciles Cinder resources: it resolves the cluster that the
// children live on, runs twelve sequential steps and a group of five over one
// pass, and takes a deleted Cinder's children down.
//
// A step is one file. It reads the spec and the facts that earlier steps found,
// applies children through the pass's projection scope, and reports through
// exactly one condition. Steps never write status and never ask whether the
// children's cluster is the hub.
package cinder
