// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"c5c3.io/cinder-operator/test/lab/internal/control"
	"c5c3.io/cinder-operator/test/lab/internal/layout"
)

func newDown(o *options) *cobra.Command {
	var purge bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End a lab and remove its state; logs and audit logs stay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withClient(cmd, func(ctx context.Context, client *control.Client) error {
				if err := end(ctx, client); err != nil {
					return err
				}
				dir, err := o.lab()
				if err != nil {
					return err
				}
				// Also what a supervisor left that was killed.
				if err := dir.RemoveState(); err != nil {
					return err
				}
				if purge {
					return dir.RemoveLogs()
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "remove the logs too")
	return cmd
}

// end asks the supervisor to end and returns when its socket is gone, which is the last thing it closes. A lab that
// does not run is at its end already.
func end(ctx context.Context, client *control.Client) error {
	err := client.Down(ctx)
	if err != nil && !errors.Is(err, control.ErrNotRunning) {
		return err
	}
	for !errors.Is(err, control.ErrNotRunning) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("await the end of the lab: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
		// Any other error is that of a connection which the end cut.
		_, err = client.Status(ctx)
	}
	return nil
}

func newStatus(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Print what runs, as JSON",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withClient(cmd, func(ctx context.Context, client *control.Client) error {
				status, err := client.Status(ctx)
				if err != nil {
					return err
				}
				return printJSON(cmd, status)
			})
		},
	}
}

func printJSON(cmd *cobra.Command, value any) error {
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func newList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the labs that run on this machine, one folder a line",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sockets, err := controlSockets()
			if err != nil {
				return err
			}
			for _, status := range statusesOf(cmd.Context(), sockets) {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\tpid %d\t%d targets\tnodes %s\n", status.Dir, status.PID, status.Targets, status.Nodes)
			}
			return nil
		},
	}
}

// listTimeout bounds the wait for labs that hang: they must not hide the others, nor may a busy machine hide those
// that are well.
const listTimeout = 20 * time.Second

// statusesOf asks labs side by side. It leaves out those that ended meanwhile, hang, or belong to another user.
func statusesOf(ctx context.Context, sockets []string) []control.Status {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	answers := make([]*control.Status, len(sockets))
	var wg sync.WaitGroup
	for i, socket := range sockets {
		wg.Go(func() {
			if status, err := control.NewSocketClient(socket).Status(ctx); err == nil {
				answers[i] = &status
			}
		})
	}
	wg.Wait()
	var statuses []control.Status
	for _, answer := range answers {
		if answer != nil {
			statuses = append(statuses, *answer)
		}
	}
	return statuses
}

// controlSockets finds the sockets of all labs in the kernel's table.
func controlSockets() ([]string, error) {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, fmt.Errorf("list the labs: %w", err)
	}
	seen := map[string]bool{}
	var sockets []string
	for line := range strings.Lines(string(table)) {
		columns := strings.Fields(line)
		name := columns[len(columns)-1]
		if strings.HasPrefix(name, layout.ControlPrefix) && !seen[name] {
			seen[name] = true
			sockets = append(sockets, name)
		}
	}
	return sockets, nil
}
