// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Command lab runs a test bed of real Kubernetes control planes on one machine: a hub and targets, with fake nodes
// where pods have to run, and the failures that a fleet meets.
package main

import (
	"os"

	"c5c3.io/cinder-operator/test/lab/internal/cli"
)

func main() { os.Exit(cli.Main()) }
