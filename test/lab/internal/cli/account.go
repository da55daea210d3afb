// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"c5c3.io/cinder-operator/test/lab/internal/account"
)

func newAccount(o *options) *cobra.Command {
	var a account.Account
	var out string
	cmd := &cobra.Command{
		Use:   "account CLUSTER --namespace NAMESPACE --service-account NAME",
		Short: "Write a kubeconfig with a token of a ServiceAccount; waits until the account exists",
		Long: "Write a kubeconfig with a token of a ServiceAccount; waits until the account exists.\n" +
			"The token lies in a Secret of the account's namespace and is revoked by deleting that Secret.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Cluster = args[0]
			return o.withCluster(cmd, a.Cluster, func(ctx context.Context, admin string) error {
				kubeconfig, err := a.Kubeconfig(ctx, admin)
				if err != nil {
					return err
				}
				if out == "" {
					_, err = cmd.OutOrStdout().Write(kubeconfig)
					return err
				}
				return writeFile(out, kubeconfig)
			})
		},
	}
	cmd.Flags().StringVar(&a.Namespace, "namespace", "", "the ServiceAccount's namespace")
	cmd.Flags().StringVar(&a.ServiceAccount, "service-account", "", "the ServiceAccount's name")
	cmd.Flags().StringVar(&a.TokenSecret, "token-secret", "", "the token's Secret (default: the account's name with -token behind it)")
	cmd.Flags().StringVar(&out, "out", "", "the file to write instead of the standard output")
	for _, name := range []string{"namespace", "service-account"} {
		// Fails only for a flag that does not exist.
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

// writeFile replaces a file at once, readable by the owner alone: nobody reads half a kubeconfig.
func writeFile(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(content); err != nil {
		tmp.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
