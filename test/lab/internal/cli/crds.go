// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"c5c3.io/cinder-operator/test/lab/internal/crds"
)

func newCRDs(o *options) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "crds CLUSTER NAME...",
		Short: "Install the CRDs of the operator's collaborators: " + strings.Join(crds.Names(), ", "),
		Long: "Install the CRDs of the operator's collaborators, as published in their Go modules, and wait until they are served.\n" +
			"Names: " + strings.Join(crds.Names(), ", ") + ".\n" +
			"Conversion webhooks are left out: nobody serves them in a lab.",
		Args:      cobra.MinimumNArgs(2),
		ValidArgs: crds.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withCluster(cmd, args[0], func(ctx context.Context, kubeconfig string) error {
				do := crds.Install
				if remove {
					do = crds.Remove
				}
				if err := do(ctx, kubeconfig, args[1:]...); err != nil {
					return fmt.Errorf("on %s: %w", args[0], err)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "delete them instead, and all objects of their kinds")
	return cmd
}
