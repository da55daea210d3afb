// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/urls"
)

// reconcileTransportURLSecret puts the bus URL into the derived Secret and finds
// the ports that the network policy opens. While any piece is missing nothing is
// written.
func (r *Reconciler) reconcileTransportURLSecret(ctx context.Context, p *Pass) (ctrl.Result, error) {
	read := r.brownfieldTransport
	if p.Cinder.Spec.Messaging.ClusterRef != nil {
		read = r.managedTransport
	}
	raw, message, err := read(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	if message != "" {
		return r.waitForSecrets(p, v1alpha1.ReasonWaitingForMessagingCredentials, "message bus credentials: "+message)
	}
	transport, err := urls.ParseTransport(raw)
	if err != nil {
		return r.waitForSecrets(p, v1alpha1.ReasonWaitingForMessagingCredentials, "message bus credentials: "+err.Error())
	}
	derived := derivedSecret(p.Cinder, render.TransportURLName(p.Cinder.Name), map[string][]byte{render.KeyTransportURL: []byte(urls.EscapeEnv(raw))})
	vhosts := vhostLabels(transport, p.Cinder.Namespace)
	for _, label := range vhosts {
		derived.Labels[label] = "true"
	}
	// Before the neighbours are looked for: whoever joins them from here on wakes
	// this Cinder.
	r.bus.uses(client.ObjectKeyFromObject(p.Cinder), vhosts)
	if _, err := apply(ctx, p, derived); err != nil {
		return ctrl.Result{}, err
	}
	if p.sharedVhost, err = r.sharedVhost(ctx, p, vhosts); err != nil {
		return ctrl.Result{}, err
	}
	p.Facts.TransportURLHash = render.Digest(raw)
	p.Facts.BrokerPort = transport.Port
	p.Facts.BrokerPorts = transport.Ports
	return ctrl.Result{}, nil
}

// brownfieldTransport reads the URL that a user wrote, and checks that the bus
// reads it as it is meant.
func (r *Reconciler) brownfieldTransport(ctx context.Context, p *Pass) (raw, message string, err error) {
	ref := p.Cinder.Spec.Messaging.SecretRef
	if ref == nil {
		return "", "spec.messaging names neither clusterRef nor secretRef", nil
	}
	r.bus.reads(client.ObjectKeyFromObject(p.Cinder), "")
	key := ref.EffectiveKey(render.KeyTransportURL)
	secret, message, err := r.credentials(ctx, p, ref.Name, key)
	if err != nil || message != "" {
		return "", message, err
	}
	raw = string(secret.Data[key])
	if _, err := urls.ParseTransport(raw); err != nil {
		return "", fmt.Sprintf("key %q of Secret %s/%s on %s: %s", key, p.Cinder.Namespace, ref.Name, p.Target, err), nil
	}
	return raw, "", nil
}
