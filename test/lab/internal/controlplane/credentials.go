// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"c5c3.io/cinder-operator/test/lab/internal/layout"
	"c5c3.io/cinder-operator/test/lab/internal/pki"
)

const (
	serviceCIDR = "198.19.0.0/16"
	firstIP     = "198.19.0.1"
)

// credentials are the keys and certificates of one cluster and where its programs find them.
type credentials struct {
	dir     string
	server  string
	ca      []byte
	serving tls.Certificate
	admin   pki.Pair
}

// users are the client certificates of a cluster: the kubeconfig's name in the state folder, the user, its groups.
var users = []struct {
	file, user string
	groups     []string
}{
	{file: "admin", user: "lab-admin", groups: []string{"system:masters"}},
	{file: programControllerManager, user: "system:kube-controller-manager"},
	{file: programScheduler, user: "system:kube-scheduler"},
	// kwok acts for every kubelet and for the Node objects.
	{file: programKwok, user: "lab-kwok", groups: []string{"system:masters"}},
}

// newCredentials makes everything anew and writes it below the cluster's state folder, readable by the owner alone,
// and the administrator's kubeconfig into the lab's folder.
func newCredentials(dir layout.Dir, cluster string, port int) (*credentials, error) {
	c := &credentials{
		dir:    filepath.Join(dir.ClusterState(cluster), "pki"),
		server: fmt.Sprintf("https://127.0.0.1:%d", port),
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make credentials of %s: %w", cluster, err)
	}
	authority, err := pki.NewAuthority("lab-" + cluster)
	if err != nil {
		return nil, fmt.Errorf("make credentials of %s: %w", cluster, err)
	}
	c.ca = authority.Cert
	serving, err := authority.Serving("kube-apiserver", "127.0.0.1", "localhost", firstIP, "kubernetes",
		"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return nil, fmt.Errorf("make credentials of %s: %w", cluster, err)
	}
	if c.serving, err = tls.X509KeyPair(serving.Cert, serving.Key); err != nil {
		return nil, fmt.Errorf("load serving certificate of %s: %w", cluster, err)
	}
	signing, err := pki.SigningKey()
	if err != nil {
		return nil, fmt.Errorf("make credentials of %s: %w", cluster, err)
	}
	files := map[string][]byte{
		"ca.crt": authority.Cert, "ca.key": authority.Key,
		"apiserver.crt": serving.Cert, "apiserver.key": serving.Key,
		"sa.pub": signing.Cert, "sa.key": signing.Key,
	}
	for _, u := range users {
		pair, err := authority.Client(u.user, u.groups...)
		if err != nil {
			return nil, fmt.Errorf("make credentials of %s: %w", cluster, err)
		}
		if u.file == "admin" {
			c.admin = pair
		}
		kubeconfig, err := pki.Kubeconfig(cluster, u.user, c.server, c.ca, pki.Login{Pair: pair})
		if err != nil {
			return nil, fmt.Errorf("write kubeconfig of %s on %s: %w", u.user, cluster, err)
		}
		files[u.file+".kubeconfig"] = kubeconfig
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(c.dir, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("write credentials of %s: %w", cluster, err)
		}
	}
	if err := os.WriteFile(dir.Kubeconfig(cluster), files["admin.kubeconfig"], 0o600); err != nil {
		return nil, fmt.Errorf("write kubeconfig of %s: %w", cluster, err)
	}
	return c, nil
}

func (c *credentials) path(name string) string { return filepath.Join(c.dir, name) }

// httpClient asks the API server as its administrator, on a new connection each time: a kept one would say that a
// server is well whose address somebody else answers on.
func (c *credentials) httpClient() (*http.Client, error) {
	cert, err := tls.X509KeyPair(c.admin.Cert, c.admin.Key)
	if err != nil {
		return nil, fmt.Errorf("load the administrator's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.ca) {
		return nil, fmt.Errorf("load the authority's certificate: none in the file")
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}}, nil
}
