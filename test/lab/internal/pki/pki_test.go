// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestAServingCertificateIsTrustedForItsHostsOnly(t *testing.T) {
	authority, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Serving("server", "127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority.Cert) {
		t.Fatal("the authority's certificate is no PEM")
	}
	for host, trusted := range map[string]bool{"127.0.0.1": true, "localhost": true, "127.0.0.2": false, "example.org": false} {
		_, err := loaded.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots})
		if (err == nil) != trusted {
			t.Errorf("host %s: trusted is %v, want %v (%v)", host, err == nil, trusted, err)
		}
	}
	other, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	foreign := x509.NewCertPool()
	foreign.AppendCertsFromPEM(other.Cert)
	if _, err := loaded.Leaf.Verify(x509.VerifyOptions{DNSName: "localhost", Roots: foreign}); err == nil {
		t.Error("another cluster's authority of the same name is trusted")
	}
}

func TestAClientCertificateCarriesUserAndGroups(t *testing.T) {
	authority, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Client("someone", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	subject := loaded.Leaf.Subject
	if subject.CommonName != "someone" || !slices.Equal(subject.Organization, []string{"system:masters"}) {
		t.Errorf("the subject is %v", subject)
	}
	if !slices.Contains(loaded.Leaf.ExtKeyUsage, x509.ExtKeyUsageClientAuth) || loaded.Leaf.IsCA {
		t.Errorf("usage %v, authority %v", loaded.Leaf.ExtKeyUsage, loaded.Leaf.IsCA)
	}
}

func TestAKubeconfigRefersToNoFile(t *testing.T) {
	content, err := Kubeconfig("edge", "someone", "https://127.0.0.1:1", []byte("ca"), Login{Pair: Pair{Cert: []byte("c"), Key: []byte("k")}, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	cluster, user := config.Clusters["edge"], config.AuthInfos["someone"]
	if config.CurrentContext != "edge" || cluster == nil || user == nil {
		t.Fatalf("the kubeconfig is incomplete:\n%s", content)
	}
	if cluster.CertificateAuthority != "" || user.ClientCertificate != "" || user.ClientKey != "" || user.TokenFile != "" {
		t.Errorf("the kubeconfig refers to files:\n%s", content)
	}
	if string(cluster.CertificateAuthorityData) != "ca" || string(user.ClientCertificateData) != "c" ||
		string(user.ClientKeyData) != "k" || user.Token != "t" {
		t.Errorf("the kubeconfig lacks data:\n%s", content)
	}
}
