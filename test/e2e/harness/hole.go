// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Hole makes a black hole and returns a kubeconfig that leads into it: over tcp
// connections are accepted and TLS never completes, over tls it completes and
// nothing follows. The hole ends with the test.
func Hole(t testing.TB, kind string) []byte {
	t.Helper()
	ca, cert := serverCertificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		running sync.WaitGroup
		mu      sync.Mutex // guards conns
		conns   []net.Conn
	)
	swallow := func(conn net.Conn) {
		if kind == "tls" {
			conn = tls.Server(conn, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}})
		}
		_, _ = io.Copy(io.Discard, conn) // until either side closes
	}
	if kind == "tcp" {
		swallow = func(net.Conn) {}
	}
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			running.Go(func() { swallow(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return kubeconfigFor(t, "https://"+l.Addr().String(), ca)
}

// kubeconfigFor leads to a server with a token that means nothing.
func kubeconfigFor(t testing.TB, server string, ca []byte) []byte {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["it"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	cfg.AuthInfos["it"] = &clientcmdapi.AuthInfo{Token: "meaningless"}
	cfg.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	cfg.CurrentContext = "it"
	out, err := clientcmd.Write(*cfg)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// With is a change of a registration: the given kubeconfig in place of the
// cluster's own.
func With(kubeconfig []byte) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Data[v1alpha1.RegistrationKeyKubeconfig] = kubeconfig }
}
