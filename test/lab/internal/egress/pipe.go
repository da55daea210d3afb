// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

func readerOf(text string) io.Reader { return strings.NewReader(text) }

// ignoreEOF drops the errors of a peer that has gone, which is its right.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// forward joins the API server's connection to an address on the host.
func forward(ctx context.Context, conn net.Conn, reader *bufio.Reader, to string) error {
	upstream, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
	if err != nil {
		return refuse(conn, http.StatusBadGateway, fmt.Errorf("forward to %s: %w", to, err))
	}
	defer upstream.Close()
	if err := accept(conn); err != nil {
		return err
	}
	deadline := func() error { return conn.SetDeadline(time.Now().Add(idleTimeout)) }
	if err := deadline(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	// Either side's end ends both: webhooks speak TLS, which needs no half-open connections.
	end := sync.OnceFunc(func() {
		conn.Close()
		upstream.Close()
	})
	for _, direction := range []struct {
		to   io.Writer
		from io.Reader
	}{{upstream, reader}, {conn, upstream}} {
		wg.Go(func() {
			defer end()
			_, _ = io.Copy(moving{direction.to, deadline}, direction.from)
		})
	}
	wg.Wait()
	return nil
}

// moving pushes the deadline of an idle connection on with every write.
type moving struct {
	io.Writer
	moved func() error
}

// Write passes on and counts as movement.
func (m moving) Write(p []byte) (int, error) {
	if err := m.moved(); err != nil {
		return 0, err
	}
	return m.Writer.Write(p)
}
