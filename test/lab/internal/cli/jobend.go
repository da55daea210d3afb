// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"c5c3.io/cinder-operator/test/lab/internal/jobend"
)

func newJobEnd(o *options) *cobra.Command {
	var end jobend.End
	var clear, list bool
	cmd := &cobra.Command{
		Use:   "job-end CLUSTER --job NAME-OR-PATTERN",
		Short: "Decide how Jobs end on fake nodes: exit code, message, or not yet",
		Long: "Decide how Jobs end on fake nodes. The decision applies to pods that are created afterwards; the command returns\n" +
			"when it has effect. Where several decisions name a Job, the most specific one applies. Pods that a decision\n" +
			"holds go on when it is cleared or replaced by one that does not hold.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withCluster(cmd, args[0], func(ctx context.Context, kubeconfig string) error {
				var err error
				switch {
				case list:
					var ends []jobend.End
					if ends, err = jobend.List(ctx, kubeconfig); err == nil {
						return printJSON(cmd, ends)
					}
				case clear:
					err = jobend.Clear(ctx, kubeconfig, end)
				default:
					err = jobend.Set(ctx, kubeconfig, end)
				}
				if err != nil {
					return fmt.Errorf("on %s: %w", args[0], err)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&end.Job, "job", "", "the Job's name; * stands for any text, ? for one character")
	cmd.Flags().StringVar(&end.Namespace, "namespace", "", "only Jobs of this namespace")
	cmd.Flags().IntVar(&end.ExitCode, "exit-code", 0, "exit code of the Job's containers")
	cmd.Flags().StringVar(&end.Message, "message", "", "termination message of the Job's containers")
	cmd.Flags().BoolVar(&end.Hold, "hold", false, "keep the pods running")
	cmd.Flags().BoolVar(&clear, "clear", false, "remove the decision and let the pods that it holds end")
	cmd.Flags().BoolVar(&list, "list", false, "print the decisions as JSON")
	return cmd
}
