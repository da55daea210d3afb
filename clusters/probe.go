// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/version"
)

// answerLimit bounds what is read of an answer to a probe.
const answerLimit = 64 << 10

// probe asks whether the cluster serves: /readyz, and /version where that is not for everybody.
func (c *connection) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timing.ProbeTimeout, errDeadline)
	defer cancel()
	path := "/readyz"
	code, _, err := c.get(ctx, path)
	if err == nil && (code == http.StatusForbidden || code == http.StatusNotFound) {
		path = "/version"
		code, _, err = c.get(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	if code != http.StatusOK {
		return &answerError{path, code}
	}
	return nil
}

func (c *connection) readVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timing.CallTimeout, errDeadline)
	defer cancel()
	code, body, err := c.get(ctx, "/version")
	if err != nil {
		return "", err
	}
	if code != http.StatusOK {
		return "", &answerError{"/version", code}
	}
	var info version.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	return info.GitVersion, nil
}

func (c *connection) get(ctx context.Context, path string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.reg.Server.JoinPath(path).String(), nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	return resp.StatusCode, body, err
}
