// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/urls"
)

// reconcileTransportURLSecret puts the bus URL into the derived Secret and finds
// the ports that the network policy opens.
func (r *Reconciler) reconcileTransportURLSecret(ctx context.Context, p *Pass) (ctrl.Result, error) {
	spec := &p.Cinder.Spec.Messaging
	if spec.SecretRef == nil {
		return r.notSupportedSecrets(p, "spec.messaging.clusterRef")
	}
	key := spec.SecretRef.EffectiveKey(render.KeyTransportURL)
	secret, message, err := r.credentials(ctx, p, spec.SecretRef.Name, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	if message != "" {
		return r.waitForSecrets(p, v1alpha1.ReasonWaitingForMessagingCredentials, "message bus credentials: "+message)
	}
	raw := string(secret.Data[key])
	transport, err := urls.ParseTransport(raw)
	if err != nil {
		return r.waitForSecrets(p, v1alpha1.ReasonWaitingForMessagingCredentials,
			fmt.Sprintf("message bus credentials: key %q of Secret %s/%s on %s: %s", key, p.Cinder.Namespace, spec.SecretRef.Name, p.Target, err))
	}
	derived := derivedSecret(p.Cinder, render.TransportURLName(p.Cinder.Name), map[string][]byte{render.KeyTransportURL: []byte(urls.EscapeEnv(raw))})
	if _, err := apply(ctx, p, derived); err != nil {
		return ctrl.Result{}, err
	}
	p.Facts.TransportURLHash = render.Digest(raw)
	p.Facts.BrokerPort = transport.Port
	p.Facts.BrokerPorts = transport.Ports
	return ctrl.Result{}, nil
}
