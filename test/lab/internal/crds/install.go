// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
)

// parallel bounds the definitions written at once: an API server rebuilds its schema after each.
const parallel = 8

// pollInterval paces the wait for the API server's own informers, which announce nothing.
const pollInterval = 100 * time.Millisecond

var resource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Install writes the definitions of the projects named and returns when the API server serves all of their kinds.
// Those that are there are brought to the version of the catalog.
func Install(ctx context.Context, kubeconfig string, names ...string) error {
	return each(ctx, kubeconfig, names, func(ctx context.Context, client *clients, crd *unstructured.Unstructured) error {
		options := metav1.ApplyOptions{FieldManager: "cinder-lab", Force: true}
		if _, err := client.definitions.Apply(ctx, crd.GetName(), crd, options); err != nil {
			return fmt.Errorf("apply %s %s: %w", kind, crd.GetName(), err)
		}
		err := kubeclient.Await(ctx, client.definitions, crd.GetName(), func(live *unstructured.Unstructured) (bool, error) {
			if live == nil {
				return false, errors.New("it is gone")
			}
			return kubeclient.IsTrue(live, "Established"), nil
		})
		if err != nil {
			return fmt.Errorf("await %s %s Established: %w", kind, crd.GetName(), err)
		}
		if err := awaitServed(ctx, client.discovery, crd); err != nil {
			return fmt.Errorf("await the kind of %s %s in the API server's list: %w", kind, crd.GetName(), err)
		}
		return nil
	})
}

// awaitServed waits until clients find the kind. The API server writes that it has established a definition before
// its own informers have read that, by which it answers.
func awaitServed(ctx context.Context, client rest.Interface, crd *unstructured.Unstructured) error {
	version, err := servedVersion(crd)
	if err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		answer, err := client.Get().AbsPath("/apis/" + version.String()).DoRaw(ctx)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		var list metav1.APIResourceList
		if err := json.Unmarshal(answer, &list); err != nil {
			return false, err
		}
		return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
			return r.Name+"."+version.Group == crd.GetName()
		}), nil
	})
}

// servedVersion is one of the versions in which a definition's objects are served.
func servedVersion(crd *unstructured.Unstructured) (schema.GroupVersion, error) {
	group, _, err := unstructured.NestedString(crd.Object, "spec", "group")
	if err != nil {
		return schema.GroupVersion{}, err
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return schema.GroupVersion{}, err
	}
	for _, item := range versions {
		version, ok := item.(map[string]any)
		if name, _ := version["name"].(string); ok && version["served"] == true {
			return schema.GroupVersion{Group: group, Version: name}, nil
		}
	}
	return schema.GroupVersion{}, errors.New("none of its versions is served")
}

// Remove deletes the definitions of the projects named, and with them every object of their kinds, and returns when
// they are gone.
func Remove(ctx context.Context, kubeconfig string, names ...string) error {
	return each(ctx, kubeconfig, names, func(ctx context.Context, client *clients, crd *unstructured.Unstructured) error {
		err := client.definitions.Delete(ctx, crd.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s: %w", kind, crd.GetName(), err)
		}
		err = kubeclient.Await(ctx, client.definitions, crd.GetName(), func(live *unstructured.Unstructured) (bool, error) {
			return live == nil, nil
		})
		if err != nil {
			return fmt.Errorf("await the end of %s %s: %w", kind, crd.GetName(), err)
		}
		return nil
	})
}

type clients struct {
	definitions dynamic.ResourceInterface
	discovery   rest.Interface
}

func connect(kubeconfig string) (*clients, error) {
	definitions, err := kubeclient.Dynamic(kubeconfig)
	if err != nil {
		return nil, err
	}
	typed, err := kubeclient.Typed(kubeconfig)
	if err != nil {
		return nil, err
	}
	return &clients{definitions: definitions.Resource(resource), discovery: typed.CoreV1().RESTClient()}, nil
}

func each(ctx context.Context, kubeconfig string, names []string,
	do func(context.Context, *clients, *unstructured.Unstructured) error) error {
	client, err := connect(kubeconfig)
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
		group.Go(func() error { return do(ctx, client, crd) })
	}
	return group.Wait()
}
