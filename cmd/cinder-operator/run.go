// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/cinder"
	"c5c3.io/cinder-operator/controllers/satellite"
	"c5c3.io/cinder-operator/projection"
)

const (
	// leaseName is the Lease that one replica holds while it acts.
	leaseName = "cinder-operator.c5c3.io"

	// shutdownGrace is how long everything that runs may take to stop. A pod's
	// default grace is 30 s; ending well before it leaves time to give the Lease
	// back.
	shutdownGrace = 8 * time.Second
)

// run builds the operator and runs it until ctx ends.
func run(ctx context.Context, o options, log logr.Logger) error {
	h, err := findHub(o.Kubeconfig)
	if err != nil {
		return err
	}
	defer h.disconnect()
	if o.LeaderElect && o.LeaderElectionNamespace == "" && !h.inCluster {
		return errors.New("--leader-elect outside a cluster needs --leader-election-namespace")
	}
	hooks, err := newWebhooks(o, h)
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	// The caches select by the hub's identity, so it comes first.
	hubID, err := h.identity(ctx, scheme, o.HubID)
	if err != nil {
		return err
	}
	log.Info("starting", "version", versionString(), "hub", h.config.Host, "hubID", hubID, "inCluster", h.inCluster)

	// The cache of Cinders exists once the manager does, and the registry, which
	// counts them, before it.
	owners := &owners{}
	needs, err := permissions(scheme, o.Namespace)
	if err != nil {
		return err
	}
	projector := projection.New(projection.Options{Scheme: scheme, HubUID: hubID, Metrics: crmetrics.Registry})
	registry, err := clusters.New(clusters.Options{
		Scheme:                   scheme,
		ClustersNamespace:        o.ClustersNamespace,
		RequireAllowedNamespaces: o.RequireAllowedNamespaces,
		AllowInsecure:            o.AllowInsecureTargets,
		AllowLocal:               o.AllowLocalTargets,
		Timing: clusters.Timing{
			ConnectGrace:  o.ConnectGrace,
			ProbeInterval: o.ProbeInterval,
			ProbeTimeout:  o.ProbeTimeout,
			ProbeFailures: o.ProbeFailures,
		},
		Children:      projection.Kinds(),
		References:    cinder.References(o.Namespace),
		ChildSelector: projection.Selector(hubID),
		CountOwners:   owners.count,

		NamespacesInUse: owners.namespaces,
		Namespace:       o.Namespace,
		Permissions:     needs,
		Forgotten:       projector.ForgetCluster,
		Metrics:         crmetrics.Registry,
		Logger:          log.WithName("clusters"),
	})
	if err != nil {
		return fmt.Errorf("set up the registry of target clusters: %w", err)
	}
	opts := managerOptions(o, scheme, hubID, log)
	hooks.serveFrom(&opts)
	mgr, err := mcmanager.New(h.config, registry, opts)
	if err != nil {
		return fmt.Errorf("set up the manager: %w", err)
	}
	local := mgr.GetLocalManager()
	owners.cache = local.GetCache()
	recorder := noteRecorder{local.GetEventRecorderFor(controllerName)} //nolint:staticcheck // see noteRecorder
	registry.SetRecorder(recorder)
	if err := registry.SetHub(local); err != nil {
		return fmt.Errorf("set up the hub: %w", err)
	}

	if err := cinder.SetupWithManager(mgr, cinder.Deps{
		Registry:               registry,
		Projector:              projector,
		Registerer:             crmetrics.Registry,
		Recorder:               recorder,
		DefaultImagePullPolicy: corev1.PullPolicy(o.DefaultImagePullPolicy),
		AbandonAfter:           o.AbandonAfter,
		MaxConcurrent:          o.MaxConcurrentReconciles,
		InCluster:              h.inCluster,
		Namespace:              o.Namespace,
		OperatorNamespace:      h.namespace,
	}); err != nil {
		return missingKinds(err)
	}
	if err := satellite.SetupWithManager(mgr, satellite.Options{
		Client:                  local.GetClient(),
		APIReader:               local.GetAPIReader(),
		Registry:                registry,
		Projector:               projector,
		Recorder:                recorder,
		Namespace:               o.Namespace,
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
	}); err != nil {
		return err
	}
	if err := owners.follow(ctx, registry.Recount); err != nil {
		return err
	}
	if err := hooks.setup(local); err != nil {
		return err
	}
	if err := addHealth(local); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	log.Info("stopped")
	return nil
}

// missingKinds says what to do about a hub that lacks the CRDs.
func missingKinds(err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the hub does not serve %s yet: apply the CRDs of config/crd first (kubectl apply --server-side -f config/crd): %w", v1alpha1.GroupVersion, err)
	}
	return err
}

// controllerName is the reporting controller of every event.
const controllerName = "cinder-operator"

func managerOptions(o options, scheme *runtime.Scheme, hubID string, log logr.Logger) mcmanager.Options {
	opts := mcmanager.Options{
		Scheme: scheme,
		Logger: log,
		NewCache: clusters.NewCache(projection.Kinds(), projection.Selector(hubID),
			&v1alpha1.Cinder{}, &v1alpha1.CinderBackend{}, &v1alpha1.CinderBackupBackend{}, &v1alpha1.TargetCluster{}),
		// Children of kinds without a Go type are read from the cache too.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},

		LeaderElection:          o.LeaderElect,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: o.LeaderElectionNamespace,
		// The process ends as soon as the manager has stopped, so the next
		// replica need not wait until the Lease runs out.
		LeaderElectionReleaseOnCancel: true,

		Metrics:                 metricsserver.Options{BindAddress: address(o.MetricsBindAddress)},
		HealthProbeBindAddress:  address(o.HealthProbeBindAddress),
		GracefulShutdownTimeout: ptr.To(shutdownGrace),
	}
	if o.Namespace != "" {
		opts.Cache.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
		// The mirror stands beside the registrations.
		if o.ClustersNamespace != "" {
			opts.Cache.ByObject = map[client.Object]cache.ByObject{
				&v1alpha1.TargetCluster{}: {Namespaces: map[string]cache.Config{o.ClustersNamespace: {}}},
			}
		}
	}
	if o.MetricsSecure {
		opts.Metrics.SecureServing = true
		opts.Metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return opts
}

// address is how the manager is told that a server is switched off.
func address(flag string) string {
	if off(flag) {
		return "0"
	}
	return flag
}
