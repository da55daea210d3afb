// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"c5c3.io/cinder-operator/test/lab/internal/abstract"
)

const (
	// requestTimeout bounds reading a request and finding out who answers it. No API server waits longer for a webhook.
	requestTimeout = 30 * time.Second
	// idleTimeout bounds a forwarded connection on which nothing moves.
	idleTimeout = 5 * time.Minute
)

// Proxy is the other end of one API server's egress.
type Proxy struct {
	Rules  Rules
	Routes Routes

	client   kubernetes.Interface
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// Start listens on an abstract socket. The client asks the API server whose egress it is who has an address.
func Start(socket string, client kubernetes.Interface) (*Proxy, error) {
	listener, err := abstract.Listen(socket)
	if err != nil {
		return nil, fmt.Errorf("listen for the egress of an API server: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{client: client, listener: listener, ctx: ctx, cancel: cancel}
	p.wg.Go(p.accept)
	return p, nil
}

// Close ends every connection and returns when none is left.
func (p *Proxy) Close() {
	p.cancel()
	p.listener.Close()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() {
			stop := context.AfterFunc(p.ctx, func() { conn.Close() })
			defer stop()
			defer conn.Close()
			if err := p.serve(conn); err != nil && p.ctx.Err() == nil {
				log.Printf("egress: %v", err)
			}
		})
	}
}

// serve handles one CONNECT.
func (p *Proxy) serve(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return err
	}
	reader := bufio.NewReader(conn)
	connect, err := http.ReadRequest(reader)
	if err != nil {
		return ignoreEOF(err)
	}
	if connect.Method != http.MethodConnect {
		return refuse(conn, http.StatusMethodNotAllowed, fmt.Errorf("unexpected method %s", connect.Method))
	}
	ip, port, err := net.SplitHostPort(connect.Host)
	if err != nil {
		return refuse(conn, http.StatusBadRequest, err)
	}
	ctx, cancel := context.WithTimeout(p.ctx, requestTimeout)
	defer cancel()
	to, err := p.Routes.find(ctx, p.client, ip)
	if err != nil {
		return refuse(conn, http.StatusBadGateway, err)
	}
	if to != "" {
		return forward(ctx, conn, reader, to)
	}
	pod, err := podAt(ctx, p.client, ip)
	if err != nil {
		return refuse(conn, http.StatusBadGateway, err)
	}
	if pod == nil {
		return refuse(conn, http.StatusBadGateway, fmt.Errorf("nothing in the cluster has the address %s:%s", ip, port))
	}
	if err := accept(conn); err != nil {
		return err
	}
	return answer(conn, reader, pod.Namespace+"/"+pod.Name, p.Rules.For(pod))
}

func accept(conn net.Conn) error {
	_, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	return ignoreEOF(err)
}

// refuse fails the CONNECT, which the API server reports to its client as a failure to connect.
func refuse(conn net.Conn, status int, reason error) error {
	_, err := fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status, http.StatusText(status))
	return errors.Join(reason, ignoreEOF(err))
}

// answer plays the pod for one request. The connection is closed after it, so that the next request finds the rules
// as they are then.
func answer(conn net.Conn, reader *bufio.Reader, pod string, as Answer) error {
	req, err := http.ReadRequest(reader)
	if err != nil {
		return ignoreEOF(fmt.Errorf("read request to Pod %s: %w", pod, err))
	}
	if as == Silent {
		// Until the other end gives up.
		if err := conn.SetDeadline(time.Time{}); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, conn)
		return ignoreEOF(err)
	}
	status, body := http.StatusOK, "OK"
	if as == Unavailable {
		status, body = http.StatusServiceUnavailable, "Service Unavailable"
	}
	resp := &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: req, Close: true,
		Header:        http.Header{"Content-Type": {"text/plain"}},
		ContentLength: int64(len(body)),
	}
	if req.Method != http.MethodHead {
		resp.Body = io.NopCloser(readerOf(body))
	}
	return ignoreEOF(resp.Write(conn))
}
