// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/cinder"
	"c5c3.io/cinder-operator/projection"
)

// serveNamespace runs an operator that serves one namespace alone, on the API
// server where secret stores are, until the end of the test.
func serveNamespace(t *testing.T, ns string) {
	t.Helper()
	const hubID = "the-hub-of-one-namespace"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	registry, err := clusters.New(clusters.Options{
		Scheme: suite.scheme, Children: projection.Kinds(), References: cinder.References(ns), ChildSelector: projection.Selector(hubID),
	})
	must(err)
	mgr, err := mcmanager.New(suite.fullConfig, registry, mcmanager.Options{
		Scheme: suite.scheme,
		NewCache: clusters.NewCache(projection.Kinds(), projection.Selector(hubID),
			&v1alpha1.Cinder{}, &v1alpha1.CinderBackend{}, &v1alpha1.CinderBackupBackend{}, &v1alpha1.TargetCluster{}),
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	must(err)
	must(registry.SetHub(mgr.GetLocalManager()))
	must(cinder.SetupWithManager(mgr, cinder.Deps{
		Registry:   registry,
		Projector:  projection.New(projection.Options{Scheme: suite.scheme, HubUID: hubID}),
		Registerer: prometheus.NewRegistry(),
		Namespace:  ns,
		Intervals:  cinder.Intervals{NextPass: 100 * time.Millisecond, SecretPolling: time.Hour, DatabaseWait: time.Hour},
	}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAnOperatorOfOneNamespaceTakesAStoreOfThatNamespaceOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hub, f.children = suite.full, suite.full
	f.create(suite.full, namespace(f.ns))
	f.secrets()
	serveNamespace(t, f.ns)
	f.cinder()
	typ := v1alpha1.ConditionSecretsReady
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonClusterSecretStoreUnsupported, v1alpha1.DefaultSecretStoreName, "name a SecretStore")
	f.object(secretStoreKind, "vault", fakeStore())
	f.update(func(cr *v1alpha1.Cinder) {
		cr.Spec.SecretStoreRef = &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "vault"}
	})
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonSecretStoreNotReady, "vault")
	f.sayReady(secretStoreKind, "vault", "True", "Valid", "store validated")
	f.awaitCondition(typ, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
}
