// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// issued is a certificate with its key, of an authority or of a server.
type issued struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue makes one that is good for a while. An authority that nobody signs signs itself.
func issue(t *testing.T, name string, by *issued, authority bool, good time.Duration) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(good),
		IsCA: authority, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: serverUsage,
	}
	if by == nil {
		by = &issued{cert: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{cert: cert, key: key}
}

func newAuthority(t *testing.T) *issued {
	t.Helper()
	return issue(t, "authority", nil, true, 10*365*day)
}

// server answers a server's certificate of the authority, as it is presented.
func (a *issued) server(t *testing.T, good time.Duration) *tls.Certificate {
	t.Helper()
	return issue(t, "server", a, false, good).presented()
}

func (a *issued) presented(between ...*issued) *tls.Certificate {
	out := &tls.Certificate{Certificate: [][]byte{a.cert.Raw}, PrivateKey: a.key, Leaf: a.cert}
	for _, b := range between {
		out.Certificate = append(out.Certificate, b.cert.Raw)
	}
	return out
}

func (a *issued) pem() []byte { return encoded([]*x509.Certificate{a.cert}) }
