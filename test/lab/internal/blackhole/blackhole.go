// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package blackhole listens in place of a server and never answers: the failures that a closed port does not show.
package blackhole

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
)

// Hole is one listener and the connections that fell into it.
type Hole struct {
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// TCP accepts connections and never reads from them: a client waits for the end of its TLS handshake.
func TCP(ctx context.Context, address string) (*Hole, error) {
	return open(ctx, address, func(ctx context.Context, _ net.Conn) { <-ctx.Done() })
}

// TLS completes the handshake with the certificate given, for HTTP/2 as for HTTP/1.1, and stays silent: a client
// waits for the answer to its request.
func TLS(ctx context.Context, address string, certificate tls.Certificate) (*Hole, error) {
	config := &tls.Config{
		Certificates: []tls.Certificate{certificate},
		NextProtos:   []string{"h2", "http/1.1"},
		MinVersion:   tls.VersionTLS12,
	}
	return open(ctx, address, func(ctx context.Context, conn net.Conn) {
		secure := tls.Server(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return
		}
		// Reading on keeps the client's writes from blocking: it must be the answer that it misses.
		_, _ = io.Copy(io.Discard, secure)
	})
}

func open(ctx context.Context, address string, swallow func(context.Context, net.Conn)) (*Hole, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("open black hole on %s: %w", address, err)
	}
	// The hole outlives the request that asked for it.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h := &Hole{listener: listener, ctx: life, cancel: cancel}
	h.wg.Go(func() { h.accept(swallow) })
	return h, nil
}

func (h *Hole) accept(swallow func(context.Context, net.Conn)) {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.wg.Go(func() {
			// Closing the connection ends a read in progress, so Close never waits for a client.
			stop := context.AfterFunc(h.ctx, func() { conn.Close() })
			defer stop()
			defer conn.Close()
			swallow(h.ctx, conn)
		})
	}
}

// Close frees the address and drops every connection.
func (h *Hole) Close() error {
	h.cancel()
	err := h.listener.Close()
	h.wg.Wait()
	if err != nil {
		return fmt.Errorf("close black hole: %w", err)
	}
	return nil
}
