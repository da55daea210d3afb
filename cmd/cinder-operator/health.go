// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// started becomes true once the hub's caches are filled: the manager starts
// this kind of runnable after them, on every replica, elected or not.
type started struct{ atomic.Bool }

func (s *started) Start(ctx context.Context) error {
	s.Store(true)
	<-ctx.Done()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a replica that
// stands by is ready too.
func (s *started) NeedLeaderElection() bool { return false }

func (s *started) check(*http.Request) error {
	if !s.Load() {
		return errors.New("the caches of the hub are not filled yet")
	}
	return nil
}

// addHealth serves /healthz while the process runs and /readyz once the hub's
// caches are filled. A target cluster that does not serve is no reason to
// restart the operator, and is in neither.
func addHealth(mgr manager.Manager) error {
	s := &started{}
	if err := mgr.Add(s); err != nil {
		return fmt.Errorf("set up readiness: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("set up /healthz: %w", err)
	}
	if err := mgr.AddReadyzCheck("hub", s.check); err != nil {
		return fmt.Errorf("set up /readyz: %w", err)
	}
	return nil
}
