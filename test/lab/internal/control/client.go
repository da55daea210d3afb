// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"c5c3.io/cinder-operator/test/lab/internal/abstract"
	"c5c3.io/cinder-operator/test/lab/internal/layout"
)

// ErrNotRunning says that no supervisor listens for a folder.
var ErrNotRunning = errors.New("no lab runs")

// Client talks to the supervisor behind one control socket. Every call takes its deadline from its context.
type Client struct {
	where string
	http  *http.Client
}

// NewClient connects to the lab of a folder, at the first call.
func NewClient(dir layout.Dir) *Client {
	return newClient("in "+string(dir), dir.ControlSocket())
}

// NewSocketClient connects to a lab by its control socket.
func NewSocketClient(socket string) *Client { return newClient("behind "+socket, socket) }

func newClient(where, socket string) *Client {
	return &Client{where: where, http: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return abstract.Dial(ctx, socket)
		},
	}}}
}

// Status asks what runs.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	err := c.call(ctx, http.MethodGet, PathStatus, nil, &status)
	return status, err
}

// Down asks the supervisor to end everything, itself last.
func (c *Client) Down(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, PathDown, nil, nil)
}

// Operate runs one of the operations without parameters and returns when it is done.
func (c *Client) Operate(ctx context.Context, cluster, operation string) error {
	path := strings.NewReplacer("{cluster}", cluster, "{operation}", operation).Replace(PathOperation)
	return c.call(ctx, http.MethodPost, path, nil, nil)
}

// BlackHole replaces a cluster's API server by a black hole.
func (c *Client) BlackHole(ctx context.Context, cluster string, hole BlackHole) error {
	return c.call(ctx, http.MethodPost, at(PathBlackHole, cluster), hole, nil)
}

// Health decides how pods answer.
func (c *Client) Health(ctx context.Context, cluster string, health Health) error {
	return c.call(ctx, http.MethodPost, at(PathHealth, cluster), health, nil)
}

// Webhook forwards a Service to the host.
func (c *Client) Webhook(ctx context.Context, cluster string, webhook Webhook) error {
	return c.call(ctx, http.MethodPost, at(PathWebhook, cluster), webhook, nil)
}

func at(path, cluster string) string { return strings.Replace(path, "{cluster}", cluster, 1) }

func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://lab"+path, content)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("%w %s", ErrNotRunning, c.where)
	}
	if err != nil {
		return fmt.Errorf("ask the lab %s: %w", c.where, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var failure Failure
		if err := json.NewDecoder(resp.Body).Decode(&failure); err != nil || failure.Error == "" {
			return fmt.Errorf("ask the lab %s: %s", c.where, resp.Status)
		}
		return errors.New(failure.Error)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the answer of the lab %s: %w", c.where, err)
	}
	return nil
}
