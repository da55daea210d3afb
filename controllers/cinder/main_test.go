// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/cinder"
	"c5c3.io/cinder-operator/projection"
	"c5c3.io/cinder-operator/test/e2e/apiservers"
	"c5c3.io/cinder-operator/test/e2e/goroutines"
)

const (
	clustersNamespace = "c5c3-clusters"
	limitedAccount    = "limited"
)

// suite is what the tests of this package share: an API server that is the hub,
// one that is a target, and one controller on the hub. Each test has a namespace
// of its own, and registers the target under a name of its own.
var suite struct {
	scheme    *runtime.Scheme
	hub, edge client.Client
	// full serves external-secrets as well, which makes every Cinder there wait
	// for a secret store. It is the hub of a test that runs an operator of its own.
	full       client.Client
	fullConfig *rest.Config
	kubeconfig map[string][]byte
	metrics    *prometheus.Registry
	health     *health
}

func TestMain(m *testing.M) {
	// envtest reads flags of its own logger; without one controller-runtime warns.
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.Level(logLevel())))
	// The tests wait far more than they work.
	err := flag.Set("test.parallel", "4")
	code := 1
	if err == nil {
		code, err = run(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code == 0 {
		if err := goroutines.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	suite.scheme = runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(suite.scheme))
	utilruntime.Must(v1alpha1.AddToScheme(suite.scheme))
	utilruntime.Must(gatewayv1.Install(suite.scheme))
	suite.kubeconfig = map[string][]byte{}

	managed, err := load(mariaDB, rabbitMQ)
	if err != nil {
		return 1, err
	}
	stores, err := load(externalSecrets)
	if err != nil {
		return 1, err
	}
	optional, err := load(verticalAutoscaler, gatewayAPI)
	if err != nil {
		return 1, err
	}
	if err := apiservers.Frugal(); err != nil {
		return 1, err
	}
	// What the hub serves and a target lacks shows that each cluster is asked.
	hubConfig, stopHub, err := startCluster("hub", append(optional, managed...), filepath.Join("..", "..", "config", "crd"))
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stopHub()) }()
	fullConfig, stopFull, err := startCluster("full", slices.Concat(stores, managed, optional), filepath.Join("..", "..", "config", "crd"))
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stopFull()) }()
	edgeConfig, stopEdge, err := startCluster("edge", managed)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stopEdge()) }()
	if suite.hub, err = client.New(hubConfig, client.Options{Scheme: suite.scheme}); err != nil {
		return 1, err
	}
	if suite.edge, err = client.New(edgeConfig, client.Options{Scheme: suite.scheme}); err != nil {
		return 1, err
	}
	suite.fullConfig = fullConfig
	if suite.full, err = client.New(fullConfig, client.Options{Scheme: suite.scheme}); err != nil {
		return 1, err
	}
	if err := suite.hub.Create(context.Background(), namespace(clustersNamespace)); err != nil {
		return 1, err
	}
	stopOperator, err := startOperator(hubConfig)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stopOperator()) }()
	return m.Run(), nil
}

func startCluster(name string, served []*apiextensionsv1.CustomResourceDefinition, crds ...string) (*rest.Config, func() error, error) {
	env := &envtest.Environment{
		CRDDirectoryPaths:        crds,
		CRDs:                     served,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	cfg, err := env.Start()
	if err != nil {
		return nil, nil, fmt.Errorf("start the API server of %s (KUBEBUILDER_ASSETS=%q): %w", name, os.Getenv("KUBEBUILDER_ASSETS"), errors.Join(err, env.Stop()))
	}
	for registered, account := range map[string]envtest.User{
		name: {Name: "operator", Groups: []string{"system:masters"}},
		// An account that may do what a test lets it.
		name + "-limited": {Name: limitedAccount},
	} {
		user, err := env.AddUser(account, cfg)
		if err == nil {
			suite.kubeconfig[registered], err = user.KubeConfig()
		}
		if err != nil {
			return nil, nil, errors.Join(err, env.Stop())
		}
	}
	return cfg, env.Stop, nil
}

// startOperator runs the Cinder controller. Whatever can be told by an event is
// polled once an hour here: a test that passes was moved by events.
func startOperator(cfg *rest.Config) (func() error, error) {
	ctx, cancel := context.WithCancel(context.Background())
	reader, err := client.New(cfg, client.Options{Scheme: suite.scheme})
	if err != nil {
		cancel()
		return nil, err
	}
	hubID, err := projection.HubID(ctx, reader, "")
	if err != nil {
		cancel()
		return nil, err
	}
	registry, err := clusters.New(clusters.Options{
		Scheme:            suite.scheme,
		ClustersNamespace: clustersNamespace,
		AllowLocal:        true,
		Timing:            clusters.Timing{ConnectGrace: 2 * time.Second, ProbeInterval: time.Second, DiscoverEvery: 1},
		Children:          projection.Kinds(),
		References:        cinder.References(""),
		ChildSelector:     projection.Selector(hubID),
		Logger:            ctrl.Log.WithName("clusters"),
	})
	if err != nil {
		cancel()
		return nil, err
	}
	mgr, err := mcmanager.New(cfg, registry, mcmanager.Options{
		Scheme: suite.scheme,
		NewCache: clusters.NewCache(projection.Kinds(), projection.Selector(hubID),
			&v1alpha1.Cinder{}, &v1alpha1.CinderBackend{}, &v1alpha1.CinderBackupBackend{}, &v1alpha1.TargetCluster{}),
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	if err := registry.SetHub(mgr.GetLocalManager()); err != nil {
		cancel()
		return nil, err
	}
	suite.metrics = prometheus.NewRegistry()
	suite.health = newHealth()
	err = cinder.SetupWithManager(mgr, cinder.Deps{
		Registry:   &probedRegistry{Registry: registry, health: suite.health},
		Projector:  projection.New(projection.Options{Scheme: suite.scheme, HubUID: hubID}),
		Registerer: suite.metrics,
		Intervals: cinder.Intervals{
			NextPass: 100 * time.Millisecond, SecretPolling: time.Hour, DatabaseWait: time.Hour, DeploymentPolling: time.Hour, UpgradeWait: time.Hour,
			HealthCheck: 200 * time.Millisecond, HealthCheckTTL: time.Second,
		},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return func() error {
		cancel()
		return <-done
	}, nil
}

// logLevel shows the operator's log when TEST_LOG is set.
func logLevel() zapcore.Level {
	if os.Getenv("TEST_LOG") != "" {
		return zapcore.DebugLevel
	}
	return zapcore.FatalLevel
}
