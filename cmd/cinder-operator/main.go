// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// The exit codes: a command line that cannot be used is told from an operator
// that could not run.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(command(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr))
}

// command runs the operator until ctx ends and answers the exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return exitOK
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "cinder-operator: %v\nRun cinder-operator --help for the flags.\n", err)
		return exitUsage
	case o.Version:
		_, _ = fmt.Fprintln(stdout, versionString())
		return exitOK
	}

	o.Zap.DestWriter = stderr
	log := zap.New(zap.UseFlagOptions(&o.Zap))
	ctrl.SetLogger(log)
	// client-go logs through klog: one process, one format.
	klog.SetLogger(log.WithName("client-go"))

	if err := run(ctx, o, log); err != nil {
		log.Error(err, "the operator ends")
		return exitFailed
	}
	return exitOK
}
