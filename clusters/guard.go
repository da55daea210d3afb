// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errDeadline is the cause of a context that ended because a call to a cluster took too long.
var errDeadline = errors.New("no answer in time")

// guard stands in front of every call to a cluster: it gives it a deadline, refuses it while the cluster is known not to
// answer, and turns what went wrong with the connection into an UnavailableError.
type guard interface {
	// enter returns the context of one call and what to run when the call has returned.
	enter(ctx context.Context) (context.Context, func(), error)
	// wrap makes an UnavailableError of an error of the connection. namespace is the object's, if it has one.
	wrap(err error, namespace string) error
}

// hubGuard only bounds calls: what is wrong with the hub is nothing a custom resource could report.
type hubGuard struct{ timeout time.Duration }

func (g hubGuard) enter(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.timeout, errDeadline)
	return ctx, cancel, nil
}

func (g hubGuard) wrap(err error, _ string) error { return err }

func guarded(ctx context.Context, g guard, namespace string, call func(context.Context) error) error {
	ctx, done, err := g.enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	return g.wrap(call(ctx), namespace)
}

// absentNamespace tells whether err says that the object's own namespace does not exist.
func absentNamespace(err error, namespace string) bool {
	var status apierrors.APIStatus
	if namespace == "" || !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces" && details.Name == namespace
}

// guardedReader is a live reader behind a guard.
type guardedReader struct {
	guard
	next client.Reader
}

// Get is part of client.Reader.
func (r *guardedReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return guarded(ctx, r.guard, key.Namespace, func(ctx context.Context) error { return r.next.Get(ctx, key, obj, opts...) })
}

// List is part of client.Reader.
func (r *guardedReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return guarded(ctx, r.guard, "", func(ctx context.Context) error { return r.next.List(ctx, list, opts...) })
}

// guardedClient is a client behind a guard. Its reads come from the cluster's cache.
type guardedClient struct {
	guard
	client.Client
}

var _ client.Client = (*guardedClient)(nil)

// Get is part of client.Client.
func (c *guardedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return guarded(ctx, c.guard, key.Namespace, func(ctx context.Context) error { return c.Client.Get(ctx, key, obj, opts...) })
}

// List is part of client.Client.
func (c *guardedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return guarded(ctx, c.guard, "", func(ctx context.Context) error { return c.Client.List(ctx, list, opts...) })
}

// Create is part of client.Client.
func (c *guardedClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return guarded(ctx, c.guard, obj.GetNamespace(), func(ctx context.Context) error { return c.Client.Create(ctx, obj, opts...) })
}

// Update is part of client.Client.
func (c *guardedClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return guarded(ctx, c.guard, obj.GetNamespace(), func(ctx context.Context) error { return c.Client.Update(ctx, obj, opts...) })
}

// Patch is part of client.Client.
func (c *guardedClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return guarded(ctx, c.guard, obj.GetNamespace(), func(ctx context.Context) error { return c.Client.Patch(ctx, obj, patch, opts...) })
}

// Apply is part of client.Client.
func (c *guardedClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return guarded(ctx, c.guard, applyNamespace(obj), func(ctx context.Context) error { return c.Client.Apply(ctx, obj, opts...) })
}

// Delete is part of client.Client.
func (c *guardedClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return guarded(ctx, c.guard, "", func(ctx context.Context) error { return c.Client.Delete(ctx, obj, opts...) })
}

// DeleteAllOf is part of client.Client.
func (c *guardedClient) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	return guarded(ctx, c.guard, "", func(ctx context.Context) error { return c.Client.DeleteAllOf(ctx, obj, opts...) })
}

// Status is part of client.Client.
func (c *guardedClient) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource is part of client.Client.
func (c *guardedClient) SubResource(name string) client.SubResourceClient {
	return &guardedSubResource{guard: c.guard, SubResourceClient: c.Client.SubResource(name)}
}

// applyNamespace finds the namespace of an apply configuration: the generated ones and those made of unstructured
// objects have it behind the same method, as a pointer or as a string.
func applyNamespace(obj runtime.ApplyConfiguration) string {
	switch o := obj.(type) {
	case interface{ GetNamespace() *string }:
		if ns := o.GetNamespace(); ns != nil {
			return *ns
		}
	case interface{ GetNamespace() string }:
		return o.GetNamespace()
	}
	return ""
}

type guardedSubResource struct {
	guard
	client.SubResourceClient
}

// Get is part of client.SubResourceClient.
func (c *guardedSubResource) Get(ctx context.Context, obj, sub client.Object, opts ...client.SubResourceGetOption) error {
	return guarded(ctx, c.guard, "", func(ctx context.Context) error { return c.SubResourceClient.Get(ctx, obj, sub, opts...) })
}

// Create is part of client.SubResourceClient.
func (c *guardedSubResource) Create(ctx context.Context, obj, sub client.Object, opts ...client.SubResourceCreateOption) error {
	return guarded(ctx, c.guard, "", func(ctx context.Context) error { return c.SubResourceClient.Create(ctx, obj, sub, opts...) })
}

// Update is part of client.SubResourceClient.
func (c *guardedSubResource) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	return guarded(ctx, c.guard, "", func(ctx context.Context) error { return c.SubResourceClient.Update(ctx, obj, opts...) })
}

// Patch is part of client.SubResourceClient.
func (c *guardedSubResource) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return guarded(ctx, c.guard, "", func(ctx context.Context) error { return c.SubResourceClient.Patch(ctx, obj, patch, opts...) })
}

// Apply is part of client.SubResourceClient.
func (c *guardedSubResource) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	return guarded(ctx, c.guard, "", func(ctx context.Context) error { return c.SubResourceClient.Apply(ctx, obj, opts...) })
}
