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
	secret := settled(t)
	before := secret.Data[corev1.TLSCertKey]
	for key := range secret.Data {
		secret.Data[key] = nil
	}
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	healed(t, before)
}

// ended is a certificate of the Secret's authority that is not good any more.
func ended(t *testing.T, secret *corev1.Secret) (cert, key []byte) {
	t.Helper()
	certBlock, _ := pem.Decode(secret.Data["ca.crt"])
	keyBlock, _ := pem.Decode(secret.Data["ca.key"])
	ca, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	caKey, err := x509.ParsePKCS1PrivateKey(keyBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	maker := &rotator.CertRotator{
		DNSName: "cinder-operator-webhook.c5c3-system.svc", ExtraDNSNames: []string{"localhost"},
		ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, key, err = maker.CreateCertPEM(&rotator.KeyPairArtifacts{Cert: ca, Key: caKey}, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func TestACertificateThatHasEndedIsRenewedUnderTheSameAuthority(t *testing.T) {
	secret := settled(t)
	cert, certKey := ended(t, secret)
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
	want := settled(t).Data["ca.crt"]
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
	secret := settled(t)
	old := secret.Data["ca.crt"]
	delete(secret.Data, "ca.key")
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	both := false
	(&witness{}).until(t, "the new authority is the only one", func(ctx context.Context) (bool, error) {
		trusted, err := bundles(ctx)
		if err != nil {
			return false, err
		}
		authority := certificateSecret(t).Data["ca.crt"]
		both = both || !bytes.Equal(old, authority) && bytes.Equal(trusted[1], append(bytes.Clone(authority), old...))
		done, err := handedOver(ctx)
		return done && !bytes.Equal(old, authority), err
	})
	if !both {
		t.Error("at no time were both authorities trusted")
	}
	if err := served(t.Context()); err != nil {
		t.Fatal(err)
	}
}
