// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package blackhole

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"c5c3.io/cinder-operator/test/lab/internal/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dial(t *testing.T, h *Hole) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", h.listener.Addr().String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestTheTCPHoleNeverCompletesAHandshake(t *testing.T) {
	h, err := TCP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	conn := dial(t, h)
	if err := conn.SetDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	err = tls.Client(conn, &tls.Config{ServerName: "localhost"}).Handshake()
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the handshake ended with %v", err)
	}
}

func TestTheTLSHoleCompletesTheHandshakeAndStaysSilent(t *testing.T) {
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Serving("server", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	h, err := TLS(t.Context(), "127.0.0.1:0", certificate)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Cert)
	for _, protocol := range []string{"h2", "http/1.1"} {
		conn := tls.Client(dial(t, h), &tls.Config{ServerName: "127.0.0.1", RootCAs: roots, NextProtos: []string{protocol}})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := conn.HandshakeContext(ctx); err != nil {
			t.Fatalf("%s: the handshake failed: %v", protocol, err)
		}
		if got := conn.ConnectionState().NegotiatedProtocol; got != protocol {
			t.Errorf("the protocol is %q, want %q", got, protocol)
		}
	}
	client := &http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + h.listener.Addr().String())
	if err == nil {
		resp.Body.Close()
	}
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a request ended with %v", err)
	}
}

func TestClosingFreesTheAddressAndDropsConnections(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h, err := TCP(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// A hole outlives the request that opened it.
	cancel()
	conn := dial(t, h)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is still open: %v", err)
	} else if !errors.Is(err, io.EOF) {
		t.Logf("the connection ended with %v", err)
	}
	listener, err := net.Listen("tcp", h.listener.Addr().String())
	if err != nil {
		t.Fatalf("the address is still taken: %v", err)
	}
	listener.Close()
}
