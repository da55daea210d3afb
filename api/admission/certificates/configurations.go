// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// configuration is one of the two that tell the API server what to ask, and which authority to trust.
type configuration struct {
	kind string
	client.Object
}

func (c configuration) clients() (out []*admissionregistrationv1.WebhookClientConfig) {
	switch config := c.Object.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range config.Webhooks {
			out = append(out, &config.Webhooks[i].ClientConfig)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range config.Webhooks {
			out = append(out, &config.Webhooks[i].ClientConfig)
		}
	}
	return out
}

// configurations reads both. One that does not exist is nobody's fault: it may come later, or never. One that cannot be read
// keeps the other from nothing.
func (k *keeper) configurations(ctx context.Context) (found []configuration, unread error) {
	for _, c := range []configuration{
		{"ValidatingWebhookConfiguration", &admissionregistrationv1.ValidatingWebhookConfiguration{}},
		{"MutatingWebhookConfiguration", &admissionregistrationv1.MutatingWebhookConfiguration{}},
	} {
		switch err := k.reader.Get(ctx, client.ObjectKey{Name: k.opts.Name}, c.Object); {
		case err == nil:
			found = append(found, c)
		case !apierrors.IsNotFound(err):
			unread = errors.Join(unread, fmt.Errorf("get %s %s: %w", c.kind, k.opts.Name, err))
		}
	}
	return found, unread
}

// trusted answers what the configurations trust, as PEM blocks.
func trusted(configs []configuration) (out []byte) {
	for _, config := range configs {
		for _, c := range config.clients() {
			out = append(out, c.CABundle...)
			out = append(out, '\n')
		}
	}
	return out
}

// inject writes the authorities where there are others. The patch names each webhook and its caBundle alone, so that
// nothing else of the configuration is the operator's.
func (k *keeper) inject(ctx context.Context, config configuration, authorities []byte) error {
	before := config.DeepCopyObject().(client.Object)
	changed := false
	for _, c := range config.clients() {
		if !bytes.Equal(c.CABundle, authorities) {
			c.CABundle, changed = authorities, true
		}
	}
	if !changed {
		return nil
	}
	if err := k.writer.Patch(ctx, config.Object, client.StrategicMergeFrom(before)); err != nil {
		return fmt.Errorf("patch %s %s: %w", config.kind, k.opts.Name, err)
	}
	k.log.Info("the webhooks' authority was written", "kind", config.kind, "name", k.opts.Name)
	return nil
}
