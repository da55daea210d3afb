// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"c5c3.io/cinder-operator/api/admission/certificates"
	"c5c3.io/cinder-operator/api/admission/webhooks"
)

// hooks are the admission webhooks. They are nil while they are switched off, and every method does nothing then.
type hooks struct {
	host        string
	port        int
	certificate *certificates.Certificate
}

func newWebhooks(o options, h hub) (*hooks, error) {
	if off(o.WebhookBindAddress) {
		return nil, nil
	}
	namespace := o.WebhookNamespace
	if namespace == "" {
		namespace = h.namespace
	}
	if namespace == "" {
		return nil, errors.New("--webhook-bind-address outside a cluster needs --webhook-namespace")
	}
	host, port, err := webhookAddress(o.WebhookBindAddress)
	if err != nil {
		return nil, err
	}
	certificate, err := certificates.New(certificates.Options{
		Namespace: namespace, Name: o.WebhookName, Rotate: o.WebhookRotate,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the webhooks: %w", err)
	}
	return &hooks{host: host, port: port, certificate: certificate}, nil
}

// webhookAddress takes a flag apart. The webhook server has no way to choose a port of its own: 0 would be 9443.
func webhookAddress(flag string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(flag)
	if err != nil {
		return "", 0, fmt.Errorf("%q is no host:port", flag)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q has no port from 1 to 65535", flag)
	}
	return host, int(n), nil
}

// serveFrom makes the manager's webhook server the one that the certificate is for.
func (h *hooks) serveFrom(opts *mcmanager.Options) {
	if h == nil {
		return
	}
	opts.WebhookServer = webhook.NewServer(webhook.Options{
		Host: h.host, Port: h.port, TLSOpts: []func(*tls.Config){h.certificate.Configure},
	})
}

func (h *hooks) setup(mgr manager.Manager) error {
	if h == nil {
		return nil
	}
	if err := h.certificate.SetupWithManager(mgr); err != nil {
		return err
	}
	// A replica that cannot present a certificate must not be asked.
	if err := mgr.AddReadyzCheck("webhook-certificate", h.certificate.Check); err != nil {
		return fmt.Errorf("set up /readyz: %w", err)
	}
	return webhooks.SetupWithManager(mgr, mgr.GetAPIReader())
}
