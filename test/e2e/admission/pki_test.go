// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

const webhookHost = harness.WebhookService + "." + harness.SystemNamespace + ".svc"

// authority signs certificates. It stands for cert-manager, or for whoever else may write the Secret.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert: cert, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// sign makes a certificate of the webhooks that ends at the given time.
func (a authority) sign(t *testing.T, end time.Time) (cert, key []byte) {
	t.Helper()
	k := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: webhookHost}, DNSNames: []string{webhookHost},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func webhookSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: harness.SystemNamespace, Name: harness.WebhookSecret}}
}

// served waits until the operator presents a certificate, and until it is the wanted one.
func served(t *testing.T, address string, want []byte) {
	t.Helper()
	block, _ := pem.Decode(want)
	harness.Eventually(t, time.Minute, "the new certificate is served", func(ctx context.Context) error {
		// Whether it is trusted is for the API server to say, which is asked, too.
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: webhookHost}}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if got := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw; !bytes.Equal(got, block.Bytes) {
			return fmt.Errorf("another certificate is served")
		}
		return nil
	})
}

// made waits until the Secret holds another certificate than before, and the API server trusts it.
func made(t *testing.T, before []byte) {
	t.Helper()
	secret := webhookSecret()
	harness.Eventually(t, time.Minute, "the certificate is made anew", func(ctx context.Context) error {
		if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
		if block == nil || bytes.Equal(secret.Data[corev1.TLSCertKey], before) {
			return fmt.Errorf("the Secret holds no other certificate yet")
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err == nil && time.Until(cert.NotAfter) < 24*time.Hour {
			err = fmt.Errorf("the certificate ends at %s", cert.NotAfter)
		}
		return err
	})
	lab.WebhooksAnswer(t, time.Minute)
}
