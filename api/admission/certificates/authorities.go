// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// mostBefore bounds the authorities before the present one that are trusted: whoever replaces them faster than they are
// dropped makes no configuration grow.
const mostBefore = 4

var serverUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}

// parsed answers the certificates among PEM blocks. What is none of them is passed over: the API server refuses a
// configuration with anything else.
func parsed(content []byte) (out []*x509.Certificate) {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			out = append(out, cert)
		}
	}
	return out
}

// stillGood answers those that have not ended, each once.
func stillGood(certs []*x509.Certificate, now time.Time) (out []*x509.Certificate) {
	for _, cert := range certs {
		if now.Before(cert.NotAfter) && !slices.ContainsFunc(out, cert.Equal) {
			out = append(out, cert)
		}
	}
	return out
}

// encoded answers certificates as PEM blocks.
func encoded(certs []*x509.Certificate) (out []byte) {
	for _, cert := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	return out
}

// signedBy tells whether a certificate is good and of one of these authorities, by way of those that it is presented with.
func signedBy(cert *tls.Certificate, authorities []*x509.Certificate, now time.Time) bool {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, authority := range authorities {
		roots.AddCert(authority)
	}
	for _, der := range cert.Certificate[1:] {
		// Whoever is presented with what cannot be read passes it over, too.
		if parsed, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(parsed)
		}
	}
	_, err := cert.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: serverUsage})
	return err == nil
}
