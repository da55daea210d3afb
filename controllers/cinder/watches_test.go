// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/cinder"
)

// handedOut counts the objects that lists of a hub hand out.
type handedOut struct {
	client.Client
	n int
}

func (h *handedOut) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := h.Client.List(ctx, list, opts...)
	h.n += meta.LenList(list)
	return err
}

// cachedHub is a hub that serves the kinds of a Cinder and nothing else runs on,
// read through a cache with the controller's indexes.
func cachedHub(t *testing.T) client.Client {
	t.Helper()
	c, err := cache.New(suite.fullConfig, cache.Options{Scheme: suite.scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := cinder.AddIndexes(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache does not start")
	}
	hub, err := client.New(suite.fullConfig, client.Options{Scheme: suite.scheme, Cache: &client.CacheOptions{Reader: c}})
	if err != nil {
		t.Fatal(err)
	}
	return hub
}

// Each event of a target is looked up, and a target sends as many as it likes.
func TestTheEventsOfATargetCostItsOwnCindersAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hub := &handedOut{Client: cachedHub(t)}
	f.create(suite.full, namespace(f.ns))
	hostile, others := "hostile-"+f.ns, "others-"+f.ns
	for i, target := range []string{hostile, others, others, others, others, ""} {
		cr := sampleCinder(f.ns, target)
		cr.Name = fmt.Sprintf("cinder-%d", i)
		cr.Spec.Database.Host, cr.Spec.Database.ClusterRef = "", &v1alpha1.ClusterRefSpec{Name: "mariadb"}
		cr.Spec.PolicyOverrides = &v1alpha1.PolicySpec{ConfigMapRef: &v1alpha1.ConfigMapRefSpec{Name: "policy"}}
		f.create(suite.full, cr)
		t.Cleanup(func() {
			if err := suite.full.Delete(context.Background(), cr); err != nil {
				t.Error(err)
			}
		})
	}
	f.eventually("the cache shows the Cinders", func(ctx context.Context) error {
		var list v1alpha1.CinderList
		if err := hub.Client.List(ctx, &list, client.InNamespace(f.ns)); err != nil || len(list.Items) != 6 {
			return fmt.Errorf("%d Cinders: %w", len(list.Items), err)
		}
		return nil
	})
	input := func(kind, name string) client.Object {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name}}
		o.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
		return o
	}
	reference := func(gvk schema.GroupVersionKind, namespace, name string) client.Object {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(gvk)
		o.SetNamespace(namespace)
		o.SetName(name)
		return o
	}
	for name, obj := range map[string]client.Object{
		"a Secret":             input("Secret", "db"),
		"a ConfigMap":          input("ConfigMap", "policy"),
		"a MariaDB":            reference(mariaDBKind, f.ns, "mariadb"),
		"a ClusterSecretStore": reference(clusterStoreKind, "", v1alpha1.DefaultSecretStoreName),
	} {
		for cluster, want := range map[string][]string{hostile: {"cinder-0"}, others: {"cinder-1", "cinder-2", "cinder-3", "cinder-4"}, "": {"cinder-5"}} {
			hub.n = 0
			var got []string
			for _, req := range cinder.CindersOfObject(t.Context(), hub, clusters.Event{Cluster: cluster, Object: obj}) {
				if req.Namespace == f.ns { // the hub has other Cinders
					got = append(got, req.Name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s on %q is told to %v, want %v", name, cluster, got, want)
			}
			if cluster != "" && hub.n != len(want) {
				t.Errorf("%s on %q: %d objects were looked at, want %d", name, cluster, hub.n, len(want))
			}
		}
	}
}
