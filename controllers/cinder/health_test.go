// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"net/http"
	"sync"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/cinder"
)

// health answers the probes of the API in the place of pods, which an API server
// alone does not have. Everything else of a target is the real one.
type health struct {
	mu      sync.Mutex
	answers map[string]clusters.ServiceResponse
	probes  map[string]int
}

func newHealth() *health {
	return &health{answers: map[string]clusters.ServiceResponse{}, probes: map[string]int{}}
}

func (h *health) set(namespace string, resp clusters.ServiceResponse) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[namespace] = resp
}

func (h *health) answer(namespace string) clusters.ServiceResponse {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probes[namespace]++
	if resp, ok := h.answers[namespace]; ok {
		return resp
	}
	return clusters.ServiceResponse{StatusCode: http.StatusOK, Body: []byte("OK")}
}

// asked counts the probes of a namespace so far: each is a pass that went all
// the way.
func (h *health) asked(namespace string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.probes[namespace]
}

type probedRegistry struct {
	cinder.Registry
	health *health
}

func (r *probedRegistry) Resolve(ctx context.Context, ref *v1alpha1.TargetClusterRefSpec, ns string) (clusters.Target, error) {
	return r.probed(r.Registry.Resolve(ctx, ref, ns))
}

func (r *probedRegistry) ResolveForDeletion(ctx context.Context, ref *v1alpha1.TargetClusterRefSpec, ns string) (clusters.Target, error) {
	return r.probed(r.Registry.ResolveForDeletion(ctx, ref, ns))
}

func (r *probedRegistry) probed(t clusters.Target, err error) (clusters.Target, error) {
	if err != nil {
		return nil, err
	}
	return probedTarget{Target: t, health: r.health}, nil
}

// probedTarget is compared by value: the same connection is the same target.
type probedTarget struct {
	clusters.Target
	health *health
}

func (t probedTarget) ServiceProxy(_ context.Context, req clusters.ServiceRequest) (clusters.ServiceResponse, error) {
	return t.health.answer(req.Namespace), nil
}
