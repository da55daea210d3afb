// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
)

// parallel bounds the definitions written at once: an API server rebuilds its schema after each.
const parallel = 8

// pollInterval paces the waits for a definition to be established or gone.
const pollInterval = 100 * time.Millisecond

var resource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Install writes the definitions of the projects named and returns when the API server has established all of them.
// Those that are there are brought to the version of the catalog.
func Install(ctx context.Context, kubeconfig string, names ...string) error {
	return each(ctx, kubeconfig, names, func(ctx context.Context, client dynamic.ResourceInterface, crd *unstructured.Unstructured) error {
		options := metav1.ApplyOptions{FieldManager: "cinder-lab", Force: true}
		if _, err := client.Apply(ctx, crd.GetName(), crd, options); err != nil {
			return fmt.Errorf("apply %s %s: %w", kind, crd.GetName(), err)
		}
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			live, err := client.Get(ctx, crd.GetName(), metav1.GetOptions{})
			return err == nil && established(live), err
		})
		if err != nil {
			return fmt.Errorf("await %s %s Established: %w", kind, crd.GetName(), err)
		}
		return nil
	})
}

// Remove deletes the definitions of the projects named, and with them every object of their kinds, and returns when
// they are gone.
func Remove(ctx context.Context, kubeconfig string, names ...string) error {
	return each(ctx, kubeconfig, names, func(ctx context.Context, client dynamic.ResourceInterface, crd *unstructured.Unstructured) error {
		err := client.Delete(ctx, crd.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s: %w", kind, crd.GetName(), err)
		}
		err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			_, err := client.Get(ctx, crd.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
		if err != nil {
			return fmt.Errorf("await the end of %s %s: %w", kind, crd.GetName(), err)
		}
		return nil
	})
}

func each(ctx context.Context, kubeconfig string, names []string,
	do func(context.Context, dynamic.ResourceInterface, *unstructured.Unstructured) error) error {
	client, err := kubeclient.Dynamic(kubeconfig)
	if err != nil {
		return err
	}
	var all []*unstructured.Unstructured
	for _, name := range names {
		found, err := load(ctx, name)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, crd := range all {
		group.Go(func() error { return do(ctx, client.Resource(resource), crd) })
	}
	return group.Wait()
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if ok && condition["type"] == "Established" {
			return condition["status"] == "True"
		}
	}
	return false
}
