// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serviceBody is how much of a Service's answer is kept.
const serviceBody = 4 << 10

// serviceProxy asks a Service through the API server.
func serviceProxy(ctx context.Context, g guard, httpClient *http.Client, server *url.URL, req ServiceRequest) (ServiceResponse, error) {
	var out ServiceResponse
	err := guarded(ctx, g, "", func(ctx context.Context) error {
		at := server.JoinPath("api/v1/namespaces", req.Namespace, "services", req.Name+":"+req.Port, "proxy", req.Path)
		httpReq, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return fmt.Errorf("get Service %s/%s: %w", req.Namespace, req.Name, err)
		}
		resp, err := httpClient.Do(httpReq)
		if err != nil {
			return fmt.Errorf("get Service %s/%s: %w", req.Namespace, req.Name, err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, serviceBody))
		if err != nil {
			return fmt.Errorf("get Service %s/%s: %w", req.Namespace, req.Name, err)
		}
		out = ServiceResponse{StatusCode: resp.StatusCode, Body: body, FromProxy: isStatus(resp, body)}
		return nil
	})
	return out, err
}

// isStatus tells an answer of the API server itself from one of the Service: only the former is a failed metav1.Status
// that repeats the response's own code.
func isStatus(resp *http.Response, body []byte) bool {
	if resp.StatusCode < 400 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return false
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil {
		return false
	}
	return status.APIVersion == "v1" && status.Kind == "Status" && status.Status == metav1.StatusFailure && int(status.Code) == resp.StatusCode
}
