// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AsHub makes a cluster of the lab a hub of its own: custom resources live there
// for an operator of its own, and the targets are shared with the lab's hub.
func (l *Lab) AsHub(t testing.TB, c *Cluster) *Lab {
	t.Helper()
	second := *l
	second.Hub = c
	if err := second.prepareHub(); err != nil {
		t.Fatalf("make %s a hub: %v", c.Name, err)
	}
	return &second
}

// ChildUIDs are the identities of a Cinder's children on the cluster, by
// "Kind/name", whatever hub they belong to.
func (c *Cluster) ChildUIDs(ctx context.Context, owner client.ObjectKey) (map[string]types.UID, error) {
	out := map[string]types.UID{}
	for _, kind := range childLists {
		list := kind.list()
		if err := c.Client.List(ctx, list, client.InNamespace(owner.Namespace), client.MatchingLabels{
			"openstack.c5c3.io/owner-kind": "Cinder", "openstack.c5c3.io/owner-name": owner.Name,
		}); err != nil {
			return nil, fmt.Errorf("list %s on %s: %w", kind.name, c.Name, err)
		}
		if err := eachItem(list, func(o client.Object) { out[kind.name+"/"+o.GetName()] = o.GetUID() }); err != nil {
			return nil, err
		}
	}
	return out, nil
}
