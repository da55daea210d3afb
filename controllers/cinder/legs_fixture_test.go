// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/cinder"
	"c5c3.io/cinder-operator/projection"
)

const brokerSecret = "rabbit-default-user"

// still is a fixture whose operator polls nothing: every interval is an hour.
type still struct {
	*fixture
	metrics *prometheus.Registry
	// registrations is the namespace of the operator's registrations.
	registrations string
	// everywhere says that the operator serves every namespace.
	everywhere bool
}

// stillOn starts an operator, of one namespace or of all, and a Cinder that uses
// everything which can be watched, Ready. The Cinder's children are beside it, or
// on a target.
func stillOn(t *testing.T, target string, everywhere bool) *still {
	t.Helper()
	s := &still{fixture: newFixture(t), metrics: prometheus.NewRegistry(), everywhere: everywhere}
	s.hub, s.children = suite.full, suite.full
	s.registrations = s.ns + "-clusters"
	s.create(suite.full, namespace(s.ns))
	s.create(suite.full, namespace(s.registrations))
	if target != "" {
		// Another API server, whose own operator minds what carries its own label.
		s.target, s.children = target, suite.hub
		s.registerStill()
	}
	s.serve()
	s.everything()
	return s
}

func (s *still) registerStill() {
	s.Helper()
	s.create(s.hub, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: s.target, Namespace: s.registrations, Labels: map[string]string{v1alpha1.LabelKubeconfig: "true"}},
		Data:       map[string][]byte{v1alpha1.RegistrationKeyKubeconfig: suite.kubeconfig["hub"]},
	})
}

func (s *still) serve() {
	s.Helper()
	must := func(err error) {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
	}
	hubID := "the-hub-of-" + s.ns
	mine := map[string]cache.Config{s.ns: {}}
	scope, caches := s.ns, cache.Options{
		DefaultNamespaces: mine,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.TargetCluster{}: {Namespaces: map[string]cache.Config{s.registrations: {}}},
		},
	}
	if s.everywhere {
		// Other tests have the Cinders of their own operators on this hub.
		scope, caches.DefaultNamespaces = "", nil
		for _, kind := range []client.Object{&v1alpha1.Cinder{}, &v1alpha1.CinderBackend{}, &v1alpha1.CinderBackupBackend{}} {
			caches.ByObject[kind] = cache.ByObject{Namespaces: mine}
		}
	}
	registry, err := clusters.New(clusters.Options{
		Scheme: suite.scheme, ClustersNamespace: s.registrations, AllowLocal: true, Namespace: scope,
		Children: projection.Kinds(), References: cinder.References(scope), ChildSelector: projection.Selector(hubID),
	})
	must(err)
	mgr, err := mcmanager.New(suite.fullConfig, registry, mcmanager.Options{
		Scheme: suite.scheme,
		NewCache: clusters.NewCache(projection.Kinds(), projection.Selector(hubID),
			&v1alpha1.Cinder{}, &v1alpha1.CinderBackend{}, &v1alpha1.CinderBackupBackend{}, &v1alpha1.TargetCluster{}),
		Cache:      caches,
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	must(err)
	must(registry.SetHub(mgr.GetLocalManager()))
	must(cinder.SetupWithManager(mgr, cinder.Deps{
		Registry:   &probedRegistry{Registry: registry, health: newHealth()},
		Projector:  projection.New(projection.Options{Scheme: suite.scheme, HubUID: hubID}),
		Registerer: s.metrics,
		Namespace:  scope,
		Intervals: cinder.Intervals{
			// A step that asks for its next pass does so after a write of its own.
			NextPass:      100 * time.Millisecond,
			SecretPolling: time.Hour, DatabaseWait: time.Hour, DeploymentPolling: time.Hour, UpgradeWait: time.Hour,
			HealthCheck: time.Hour, HealthCheckTTL: time.Hour,
		},
	}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
	})
}

// everything makes a Ready Cinder that reads and owns an object of every kind.
func (s *still) everything() {
	s.Helper()
	s.secret("db", map[string]string{"password": "secret"})
	s.secret("user", map[string]string{"pw": "secret"})
	s.object(mariaDBKind, "mariadb", fields{"storage": fields{"size": "1Gi"}})
	s.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running")
	s.object(rabbitMQKind, "rabbit", fields{"replicas": int64(1)})
	s.defaultUser(brokerSecret, s.ns)
	s.secret(brokerSecret, map[string]string{"username": "u", "password": "secret", "host": "rabbit." + s.ns + ".svc", "port": "5672"})
	s.create(s.children, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "policies"}, Data: map[string]string{"policy.yaml": "volume:create: role:member\n"},
	})
	store := s.store()
	if store != nil {
		gvk := secretStoreKind.GroupVersion().WithKind(string(store.Kind))
		s.object(gvk, store.Name, fakeStore())
		s.sayReady(gvk, store.Name, "True", "Valid", "store validated")
	}
	s.keySecret("key-volume")
	s.keySecret("key-backup")
	s.cinder(managedDatabase, managedBus, withKeystone, func(cr *v1alpha1.Cinder) {
		cr.Spec.PolicyOverrides = &v1alpha1.PolicySpec{ConfigMapRef: &v1alpha1.ConfigMapRefSpec{Name: "policies"}}
		cr.Spec.Gateway = &v1alpha1.GatewaySpec{Hostname: "volume.example.org", ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw"}}
		cr.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 5, TargetCPUUtilization: ptr.To[int32](80)}
		cr.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{}}}
		cr.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: vertical(v1alpha1.VerticalAutoscalingOff)}
		cr.Spec.SecretStoreRef = store
	})
	backend := &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Name: "rbd-a", Namespace: s.ns},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName}, Type: v1alpha1.CinderBackendTypeRBD,
			RBD: &v1alpha1.RBDBackendSpec{RBDPoolSpec: pool("volume", "key-volume")},
		},
	}
	backup := &v1alpha1.CinderBackupBackend{
		ObjectMeta: metav1.ObjectMeta{Name: "rbd-b", Namespace: s.ns},
		Spec: v1alpha1.CinderBackupBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName}, Type: v1alpha1.CinderBackupBackendTypeRBD,
			RBD: &v1alpha1.RBDBackupBackendSpec{RBDPoolSpec: pool("backup", "key-backup")},
		},
	}
	s.create(s.hub, backend)
	s.sayCredentials(backend, &backend.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
	s.create(s.hub, backup)
	s.sayCredentials(backup, &backup.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
	s.readySQL(sqlKinds...)
	s.endJob("cinder-db-sync", true)
	s.rollUntil(func(cr *v1alpha1.Cinder) error {
		return conditionIs(cr, v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonHTTPRouteNotAccepted)
	})
	s.answerRoute(metav1.ConditionTrue)
	s.awaitReady()
}

// store is the secret store of the Cinder; nil where none is served.
func (s *still) store() *v1alpha1.SecretStoreRefSpec {
	switch {
	case s.target != "":
		return nil
	case s.everywhere:
		return &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindCluster, Name: "vault-of-" + s.ns}
	}
	return &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "vault"}
}

// answerRoute plays the Gateway's controller.
func (s *still) answerRoute(status metav1.ConditionStatus) {
	s.Helper()
	s.eventually("answer to the route", func(ctx context.Context) error {
		var route gatewayv1.HTTPRoute
		if err := s.children.Get(ctx, client.ObjectKey{Namespace: s.ns, Name: cinderName}, &route); err != nil {
			return err
		}
		route.Status.Parents = []gatewayv1.RouteParentStatus{{
			ParentRef: gatewayv1.ParentReference{Name: "gw"}, ControllerName: "example.org/gateway",
			Conditions: []metav1.Condition{{
				Type: string(gatewayv1.RouteConditionAccepted), Status: status, Reason: "ByTheTest", ObservedGeneration: route.Generation, LastTransitionTime: metav1.Now(),
			}},
		}}
		return s.children.Status().Update(ctx, &route)
	})
}

// passes counts the passes over the Cinder so far.
func (s *still) passes() uint64 {
	s.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		s.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "cinder_operator_reconcile_duration_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetValue() == "Secrets" {
					return m.GetHistogram().GetSampleCount()
				}
			}
		}
	}
	return 0
}

// rest waits until no pass has been made for a while, so that the next one is
// owed to what happens next.
func (s *still) rest() {
	s.Helper()
	last, since := s.passes(), time.Now()
	s.eventually("the Cinder to rest", func(context.Context) error {
		if now := s.passes(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < time.Second {
			return errors.New("it was passed over a moment ago")
		}
		return nil
	})
}

// credentials says anew what the controller of a satellite says of its key.
func (s *still) credentials(obj client.Object, conds *[]metav1.Condition, status metav1.ConditionStatus, reason string) {
	s.Helper()
	s.eventually("say the credentials of "+obj.GetName(), func(ctx context.Context) error {
		if err := s.hub.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		meta.SetStatusCondition(conds, metav1.Condition{
			Type: v1alpha1.ConditionCredentialsReady, Status: status, Reason: reason, Message: "by the test", ObservedGeneration: obj.GetGeneration(),
		})
		return s.hub.Status().Update(ctx, obj)
	})
}
