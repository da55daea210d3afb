// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The account of the shipped manifests, with the role of config/webhook beside them: the process makes its certificate,
// is ready with it, and serves it.
func TestTheWebhooksAreServedWithACertificateThatTheOperatorMade(t *testing.T) {
	address := freeAddress(t)
	p := start(t, "--kubeconfig="+account, "--webhook-bind-address="+address, "--webhook-namespace=c5c3-system")
	p.eventually("http://"+p.health+"/readyz", isOK)

	secret := &corev1.Secret{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "c5c3-system", Name: "cinder-operator-webhook-certificate"}, secret); err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(secret.Data["ca.crt"])
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: authority, ServerName: "cinder-operator-webhook.c5c3-system.svc"}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("the API server would not trust the webhooks: %v", err)
	}
	_ = conn.Close()

	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(stopLimit); code != exitOK {
		t.Errorf("exit code %d after SIGTERM, want %d", code, exitOK)
	}
	if strings.Contains(p.out.String(), "PRIVATE KEY") {
		t.Error("the key is in the log")
	}
	if strings.Contains(p.out.String(), "forbidden") {
		t.Error("the role of config/webhook is not enough")
	}
}

func TestWebhooksOutsideAClusterNeedANamespace(t *testing.T) {
	p := start(t, "--kubeconfig="+account, "--webhook-bind-address="+freeAddress(t))
	if code := p.wait(2 * hubTimeout); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if !strings.Contains(p.out.String(), "--webhook-bind-address outside a cluster needs --webhook-namespace") {
		t.Error("the operator does not say what is missing")
	}
}
