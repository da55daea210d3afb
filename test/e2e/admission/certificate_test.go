// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

// One process, from the first certificate to the last: nothing here restarts it.
func TestACertificateThatIsGoneOrHasEndedIsMadeAnewWithoutARestart(t *testing.T) {
	operator := lab.StartWithWebhooks(t, "--namespace", "nowhere")
	lab.Hub.Apply(t, "config", "webhook", "manifests.yaml")
	lab.WebhooksAnswer(t, time.Minute)

	secret := webhookSecret()
	lab.Hub.Get(t, client.ObjectKeyFromObject(secret), secret)
	lab.Hub.Delete(t, webhookSecret())
	harness.Eventually(t, time.Minute, "the Secret is there again", func(ctx context.Context) error {
		if err := lab.Hub.Client.Create(ctx, harness.Cinder("default", "meanwhile", ""), client.DryRunAll); err != nil {
			t.Fatalf("a change is refused while the certificate is made anew: %v", err)
		}
		return lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(secret), webhookSecret())
	})
	made(t, secret.Data[corev1.TLSCertKey])

	cert, key := newAuthority(t, "somebody").sign(t, time.Now().Add(-time.Hour))
	secret = webhookSecret()
	harness.Change(t, lab.Hub, secret, func(s *corev1.Secret) { s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = cert, key })
	made(t, cert)

	if !operator.Alive() {
		t.Error("the operator ended meanwhile")
	}
}

// There is no cert-manager in the lab, only its kinds: its part, an authority, a Secret and the injection, is played.
func TestACertificateOfCertManagerIsServedAndSwappedLive(t *testing.T) {
	withoutWebhooks(t)
	lab.Hub.Delete(t, webhookSecret())
	lab.Run(t, "crds", harness.HubName, "cert-manager")
	lab.Hub.Apply(t, "config", "webhook", "cert-manager", "certificate.yaml")
	lab.Hub.Apply(t, "config", "webhook", "cert-manager", "manifests.yaml")

	first := newAuthority(t, "first")
	cert, key := first.sign(t, time.Now().Add(12*time.Hour))
	secret := webhookSecret()
	secret.Type = corev1.SecretTypeTLS
	secret.Data = map[string][]byte{"ca.crt": first.pem, corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key}
	lab.Hub.Create(t, secret)
	operator := lab.StartWithWebhooks(t, "--namespace", "nowhere", "--webhook-rotate-certificates=false")
	inject(t, first.pem)
	lab.WebhooksAnswer(t, time.Minute)

	second := newAuthority(t, "second")
	cert, key = second.sign(t, time.Now().Add(12*time.Hour))
	harness.Change(t, lab.Hub, secret, func(s *corev1.Secret) {
		s.Data = map[string][]byte{"ca.crt": second.pem, corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key}
	})
	inject(t, second.pem)
	served(t, operator.WebhooksAt, cert)
	lab.WebhooksAnswer(t, time.Minute)

	lab.Hub.Get(t, client.ObjectKeyFromObject(secret), secret)
	if string(secret.Data[corev1.TLSCertKey]) != string(cert) {
		t.Error("the operator wrote the Secret that is cert-manager's")
	}
}

// inject does what cert-manager does with the configurations that carry its annotation.
func inject(t *testing.T, authority []byte) {
	t.Helper()
	const annotation, want = "cert-manager.io/inject-ca-from", harness.SystemNamespace + "/" + harness.WebhookService
	meta := metav1.ObjectMeta{Name: harness.WebhookName}
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta}, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta}
	harness.Change(t, lab.Hub, mutating, func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
		for i := range c.Webhooks {
			c.Webhooks[i].ClientConfig.CABundle = authority
		}
	})
	harness.Change(t, lab.Hub, validating, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for i := range c.Webhooks {
			c.Webhooks[i].ClientConfig.CABundle = authority
		}
	})
	for _, c := range []client.Object{mutating, validating} {
		if got := c.GetAnnotations()[annotation]; got != want {
			t.Errorf("%T: the annotation %s is %q, want %q", c, annotation, got, want)
		}
	}
	if len(mutating.Webhooks) != 3 || len(validating.Webhooks) != 3 {
		t.Errorf("%d and %d webhooks, want 3 each", len(mutating.Webhooks), len(validating.Webhooks))
	}
}
