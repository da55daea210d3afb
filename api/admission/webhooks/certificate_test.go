// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var secretKey = client.ObjectKey{Namespace: operatorNamespace, Name: installation + "-webhook-certificate"}

func certificateSecret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := admin.Get(t.Context(), secretKey, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// healed waits until the Secret holds another certificate than before, good for a while, and the API server accepts it.
func healed(t *testing.T, before []byte) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		secret := &corev1.Secret{}
		if err := admin.Get(ctx, secretKey, secret); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if bytes.Equal(secret.Data[corev1.TLSCertKey], before) {
			return false, nil
		}
		usages := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		ok, _ := rotator.ValidCert(secret.Data["ca.crt"], secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey],
			"cinder-operator-webhook.c5c3-system.svc", &usages, time.Now().Add(180*24*time.Hour))
		return ok, nil
	})
	if err != nil {
		t.Fatalf("the certificate is not made anew: %v", err)
	}
	if err := served(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestACertificateThatIsGoneIsMadeAnew(t *testing.T) {
	secret := certificateSecret(t)
	if err := admin.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	healed(t, secret.Data[corev1.TLSCertKey])
}

func TestAnEmptiedSecretIsFilledAgain(t *testing.T) {
	secret := certificateSecret(t)
	before := secret.Data[corev1.TLSCertKey]
	for key := range secret.Data {
		secret.Data[key] = nil
	}
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	healed(t, before)
}

func TestACertificateThatHasEndedIsRenewedUnderTheSameAuthority(t *testing.T) {
	secret := certificateSecret(t)
	certBlock, _ := pem.Decode(secret.Data["ca.crt"])
	keyBlock, _ := pem.Decode(secret.Data["ca.key"])
	ca, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS1PrivateKey(keyBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	maker := &rotator.CertRotator{
		DNSName: "cinder-operator-webhook.c5c3-system.svc", ExtraDNSNames: []string{"localhost"},
		ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, certKey, err := maker.CreateCertPEM(&rotator.KeyPairArtifacts{Cert: ca, Key: key}, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	authority := secret.Data["ca.crt"]
	secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey] = cert, certKey
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	healed(t, cert)
	if !bytes.Equal(certificateSecret(t).Data["ca.crt"], authority) {
		t.Error("the authority was replaced, although it is good for years")
	}
}

func TestAnAuthorityThatIsOverwrittenIsWrittenAgain(t *testing.T) {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	key := client.ObjectKey{Name: installation}
	if err := admin.Get(t.Context(), key, config); err != nil {
		t.Fatal(err)
	}
	for i := range config.Webhooks {
		config.Webhooks[i].ClientConfig.CABundle = nil
	}
	if err := admin.Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	want := certificateSecret(t).Data["ca.crt"]
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		if err := admin.Get(ctx, key, config); err != nil {
			return false, err
		}
		for _, hook := range config.Webhooks {
			if !bytes.Equal(hook.ClientConfig.CABundle, want) {
				return false, nil
			}
		}
		return len(config.Webhooks) == 3, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := served(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What cert-manager leaves behind is a Secret with an authority that is good, and whose key the operator has not.
func TestNoChangeIsRefusedWhileAGoodAuthorityIsReplaced(t *testing.T) {
	secret := certificateSecret(t)
	old := secret.Data["ca.crt"]
	delete(secret.Data, "ca.key")
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	bundle := func(ctx context.Context) []byte {
		config := &admissionregistrationv1.MutatingWebhookConfiguration{}
		if err := admin.Get(ctx, client.ObjectKey{Name: installation}, config); err != nil {
			t.Fatal(err)
		}
		return config.Webhooks[0].ClientConfig.CABundle
	}
	both, asked := false, 0
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		asked++
		if err := admin.Create(ctx, newBackend("default", "meanwhile"), client.DryRunAll); err != nil {
			return false, err
		}
		trusted, authority := bundle(ctx), certificateSecret(t).Data["ca.crt"]
		both = both || !bytes.Equal(old, authority) && bytes.Equal(trusted, append(bytes.Clone(authority), old...))
		return !bytes.Equal(old, authority) && bytes.Equal(trusted, authority), nil
	})
	if err != nil {
		t.Fatalf("change %d while the authority is replaced: %v", asked, err)
	}
	if !both {
		t.Error("at no time were both authorities trusted")
	}
	if left := certificateSecret(t).Data["previous-ca.crt"]; left != nil {
		t.Errorf("the previous authority is still kept: %s", left)
	}
	if err := served(t.Context()); err != nil {
		t.Fatal(err)
	}
}
