// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/controllers/cinder"
)

// ownerCounter counts the Cinders that name a target cluster, out of the hub's
// cache. The registry knows no Cinder, and is handed this instead.
type ownerCounter struct{ reader client.Reader }

func (c *ownerCounter) count(ctx context.Context, cluster string) (int, error) {
	list := &v1alpha1.CinderList{}
	if err := c.reader.List(ctx, list, client.MatchingFields{cinder.IndexTargetCluster: cluster}); err != nil {
		return 0, fmt.Errorf("count the Cinders on %q: %w", cluster, err)
	}
	return len(list.Items), nil
}
