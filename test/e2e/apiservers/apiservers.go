// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiservers is for the API servers that suites start: several of them share
// the cores with the suites of other packages.
package apiservers

import (
	"errors"
	"os"
)

const (
	cores = "GOMAXPROCS"
	one   = "1"

	// OneCore in its environment makes a Go program run on one core at a time. A server
	// that spreads its requests over cores which others work on spends more on handing
	// them over.
	OneCore = cores + "=" + one
)

// Frugal has the API servers that envtest starts from now on take less of the
// machine: they inherit this process's environment.
func Frugal() error {
	// Collecting garbage less often saves CPU time that memory is there for.
	return errors.Join(os.Setenv("GOGC", "400"), os.Setenv(cores, one))
}
