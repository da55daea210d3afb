// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// EnsureJob makes the Job of an intent exist; nil says that the old one is still
// there.
var EnsureJob = ensureJob

// HoldsBackDetach tells whether a pass over cr, a copy that may be old, would make no Job for a backend.
func HoldsBackDetach(ctx context.Context, live client.Reader, cr *v1alpha1.Cinder) (bool, error) {
	err := (&Reconciler{live: live}).notLeaving(ctx, cr)
	var stale *staleError
	if errors.As(err, &stale) {
		return true, nil
	}
	return false, err
}
