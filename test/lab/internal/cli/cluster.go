// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"c5c3.io/cinder-operator/test/lab/internal/control"
	"c5c3.io/cinder-operator/test/lab/internal/egress"
)

func newOperation(o *options, operation, short string) *cobra.Command {
	return &cobra.Command{
		Use:   operation + " CLUSTER",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withClient(cmd, func(ctx context.Context, client *control.Client) error {
				return client.Operate(ctx, args[0], operation)
			})
		},
	}
}

func newBlackHole(o *options) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:   "black-hole CLUSTER",
		Short: "Replace an API server by something that accepts and never answers; `lab start` brings it back",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withClient(cmd, func(ctx context.Context, client *control.Client) error {
				return client.BlackHole(ctx, args[0], control.BlackHole{Kind: kind})
			})
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "tcp", "tcp: accepts connections and never reads; tls: completes TLS with the cluster's own certificate and stays silent")
	return cmd
}

func newHealth(o *options) *cobra.Command {
	var rule control.Health
	cmd := &cobra.Command{
		Use:       "health CLUSTER --pods SELECTOR ok|503|silent",
		Short:     "Decide how pods answer to HTTP through the API server's Service proxy; the newest rule that selects a pod wins",
		Args:      cobra.ExactArgs(2),
		ValidArgs: []string{string(egress.OK), string(egress.Unavailable), string(egress.Silent)},
		RunE: func(cmd *cobra.Command, args []string) error {
			rule.Answer = egress.Answer(args[1])
			return o.withClient(cmd, func(ctx context.Context, client *control.Client) error {
				return client.Health(ctx, args[0], rule)
			})
		},
	}
	cmd.Flags().StringVar(&rule.Pods, "pods", "", "label selector; empty selects all pods")
	cmd.Flags().StringVar(&rule.Namespace, "namespace", "", "only pods of this namespace")
	return cmd
}

func newWebhook(o *options) *cobra.Command {
	var webhook control.Webhook
	var remove bool
	cmd := &cobra.Command{
		Use:   "webhook CLUSTER --service NAMESPACE/NAME --to HOST:PORT",
		Short: "Forward what the API server sends to a Service's ClusterIP to an address of the host",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if remove != (webhook.To == "") {
				return fmt.Errorf("exactly one of --to and --remove is required")
			}
			return o.withClient(cmd, func(ctx context.Context, client *control.Client) error {
				return client.Webhook(ctx, args[0], webhook)
			})
		},
	}
	cmd.Flags().StringVar(&webhook.Service, "service", "", "the Service")
	cmd.Flags().StringVar(&webhook.To, "to", "", "the address that serves, such as 127.0.0.1:9443")
	cmd.Flags().BoolVar(&remove, "remove", false, "forward no longer")
	return cmd
}

func newKubectl(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl CLUSTER -- ARGUMENTS",
		Short: "Run kubectl as the administrator of a cluster",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := o.lab()
			if err != nil {
				return err
			}
			var status control.Status
			if err := o.withClient(cmd, func(ctx context.Context, client *control.Client) (err error) {
				status, err = client.Status(ctx)
				return err
			}); err != nil {
				return err
			}
			kubeconfig := dir.Kubeconfig(args[0])
			if _, err := os.Stat(kubeconfig); err != nil {
				return fmt.Errorf("there is no cluster %q: %w", args[0], err)
			}
			// No deadline: it may follow a watch. An interrupt reaches it from the terminal.
			kubectl := exec.Command(filepath.Join(status.Assets, "kubectl"), args[1:]...)
			kubectl.Env = append(withoutEnv("KUBECONFIG"), "KUBECONFIG="+kubeconfig)
			kubectl.Stdin, kubectl.Stdout, kubectl.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return kubectl.Run()
		},
	}
}

func withoutEnv(name string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, name+"=") {
			env = append(env, kv)
		}
	}
	return env
}
