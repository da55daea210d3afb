// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// WebhookName is the name of the shipped webhook configurations.
	WebhookName = "cinder-operator"
	// WebhookSecret holds the certificate, in SystemNamespace.
	WebhookSecret = WebhookName + "-webhook-certificate"
	// WebhookService is what the API server reaches the webhooks through, in
	// SystemNamespace.
	WebhookService = WebhookName + "-webhook"
)

// Apply applies manifests of the repository, named by their path below its root.
func (c *Cluster) Apply(t testing.TB, elem ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	if err := c.applyFile(ctx, filepath.Join(append([]string{c.lab.root}, elem...)...)); err != nil {
		t.Fatal(err)
	}
}

// Root is a path below the root of the repository.
func (l *Lab) Root(elem ...string) string {
	return filepath.Join(append([]string{l.root}, elem...)...)
}

// StartWithWebhooks starts an operator that serves the webhooks to the hub's API
// server, which reaches it through the shipped Service and its egress. Nothing is
// asked of it before the configurations are applied.
func (l *Lab) StartWithWebhooks(t testing.TB, args ...string) *Operator {
	t.Helper()
	l.Hub.Apply(t, "config", "webhook", "role.yaml")
	l.Hub.Apply(t, "config", "webhook", "service.yaml")
	address := freeAddress(t)
	l.Run(t, "webhook", HubName, "--service", SystemNamespace+"/"+WebhookService, "--to", address)
	o := l.StartOperator(t, append([]string{"--webhook-bind-address", address, "--webhook-namespace", SystemNamespace}, args...)...)
	o.WebhooksAt = address
	return o
}

// WebhooksAnswer waits until the hub's API server has an answer of the webhooks.
func (l *Lab) WebhooksAnswer(t testing.TB, d time.Duration) {
	t.Helper()
	Eventually(t, d, "the webhooks answer", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		probe := BackupBackend(Cinder("default", "webhooks-answer", ""), "webhooks-answer")
		probe.Spec.ExtraOptions = map[string]string{"host": "x"} // the schema has nothing against it
		return refusal(l.Hub.Client.Create(ctx, probe, client.DryRunAll))
	})
}

// refusal is nil for a violation that only the webhooks know.
func refusal(err error) error {
	for _, cause := range Causes(err) {
		if contains(cause, "host is set by the operator") {
			return nil
		}
	}
	return fmt.Errorf("what the webhooks refuse has the answer: %w", err)
}

// Causes are the violations that a rejection names, each as "FIELD: MESSAGE". It
// is empty for anything else.
func Causes(err error) []string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var out []string
	for _, cause := range status.Status().Details.Causes {
		out = append(out, cause.Field+": "+cause.Message)
	}
	return out
}
