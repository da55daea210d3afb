// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"c5c3.io/cinder-operator/test/lab/internal/control"
	"c5c3.io/cinder-operator/test/lab/internal/layout"
)

// DefaultDir is the lab's folder unless --dir names another.
const DefaultDir = "_output/lab"

// options are shared by all commands.
type options struct {
	dir     string
	timeout time.Duration
}

// Main runs the command line and returns the exit code: that of kubectl for the command that runs it, 1 for a
// failure, 130 after an interrupt.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := New().ExecuteContext(ctx)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	if ctx.Err() != nil {
		return 130
	}
	return 1
}

// New builds the command line.
func New() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:           "lab",
		Short:         "A test bed of real Kubernetes control planes on one machine",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.PersistentFlags().StringVar(&o.dir, "dir", DefaultDir, "the lab's folder: kubeconfigs, logs, audit logs")
	root.PersistentFlags().DurationVar(&o.timeout, "timeout", 3*time.Minute, "how long a command may take; `build` and the build in `up` take as long as they take")
	root.AddCommand(
		newBuild(), newAssets(),
		newUp(o), newSupervise(o), newDown(o), newStatus(o), newList(),
		newOperation(o, control.Kill, "Kill a cluster's API server without warning"),
		newOperation(o, control.Start, "Bring a killed API server or a black hole back, and wait until it is ready"),
		newOperation(o, control.Pause, "Stop the execution of an API server: connections stay open and silent"),
		newOperation(o, control.Resume, "Let a paused API server go on"),
		newBlackHole(o), newHealth(o), newWebhook(o),
		newJobEnd(o), newAccount(o), newCRDs(o), newKubectl(o),
	)
	return root
}

// lab is the folder that --dir names.
func (o *options) lab() (layout.Dir, error) { return layout.New(o.dir) }

// withClient runs a function with a client of the lab and the deadline of the command.
func (o *options) withClient(cmd *cobra.Command, do func(context.Context, *control.Client) error) error {
	dir, err := o.lab()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	return do(ctx, control.NewClient(dir))
}

// withCluster runs a function with the administrator's kubeconfig of a cluster and the deadline of the command.
func (o *options) withCluster(cmd *cobra.Command, cluster string, do func(ctx context.Context, kubeconfig string) error) error {
	return o.withClient(cmd, func(ctx context.Context, client *control.Client) error {
		status, err := client.Status(ctx)
		if err != nil {
			return err
		}
		known := make([]string, 0, len(status.Clusters))
		for _, c := range status.Clusters {
			if c.Name == cluster {
				return do(ctx, c.Kubeconfig)
			}
			known = append(known, c.Name)
		}
		return fmt.Errorf("there is no cluster %q, only %v", cluster, known)
	})
}
