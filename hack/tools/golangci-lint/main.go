// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Command golangci-lint is golangci-lint with kube-api-linter compiled in.
// It stands in a module of its own so that neither enters the requirements of
// the operator, and is built from pinned source because golangci-lint's own
// "custom" command clones repositories.
package main

import (
	"fmt"
	"os"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	// Registers the kubeapilinter plugin that .golangci.yml configures.
	_ "sigs.k8s.io/kube-api-linter"
)

// version is what "golangci-lint version" answers; it follows go.mod.
const version = "2.15.0"

func main() {
	if err := commands.Execute(commands.BuildInfo{Version: version}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
