// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// checkedClient refuses the cached read of a kind that is left out of the cache, and says why.
type checkedClient struct {
	client.Client
	ready func(runtime.Object) error
}

// Get is part of client.Reader.
func (c *checkedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := c.ready(obj); err != nil {
		return err
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// List is part of client.Reader.
func (c *checkedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.ready(list); err != nil {
		return err
	}
	return c.Client.List(ctx, list, opts...)
}
