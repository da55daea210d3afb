// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"c5c3.io/cinder-operator/test/lab/internal/build"
)

func newBuild() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the binaries that a lab runs, unless the cache has them",
		Long: "Build the binaries that a lab runs, unless the cache has them: minutes the first time, nothing afterwards.\n" +
			"The cache lies outside the clone, in the user's cache folder or where " + build.CacheEnv + " says.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := build.All(cmd.Context(), cmd.ErrOrStderr())
			return err
		},
	}
}

func newAssets() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Print the folder of etcd, kube-apiserver and kubectl, for envtest's KUBEBUILDER_ASSETS; builds if needed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			binaries, err := build.All(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), binaries.Assets)
			return err
		},
	}
}
