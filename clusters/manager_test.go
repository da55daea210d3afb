// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// TestEventsOfHubAndTargetsReachAControllerOfTheHub runs the registry as a process does: as the provider of a
// multicluster-runtime manager, with a controller that watches the hub and takes both sources.
func TestEventsOfHubAndTargetsReachAControllerOfTheHub(t *testing.T) {
	f := &fleet{t: t, namespace: newNamespace(t, hubAdmin), changes: map[string]int{}}
	children, selector := childKinds(), labels.SelectorFromSet(ours)
	var err error
	f.Registry, err = New(Options{
		Scheme: testScheme, ClustersNamespace: f.namespace, AllowLocal: true, Timing: quick(), Children: children,
		ChildSelector: selector, Recorder: f,
	})
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := mcmanager.New(hubConfig, f.Registry, mcmanager.Options{
		Scheme: testScheme, NewCache: NewCache(children, selector, &v1alpha1.Cinder{}),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetHub(mgr.GetLocalManager()); err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	got := map[mcreconcile.Request]int{}
	named := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
	}
	err = mcbuilder.ControllerManagedBy(mgr).Named("sources").
		For(&v1alpha1.Cinder{}, mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false)).
		WatchesRawSource(f.Changes(func(_ context.Context, cluster string) []reconcile.Request {
			return []reconcile.Request{named("changed-" + cluster)}
		})).
		WatchesRawSource(f.Objects(func(_ context.Context, ev Event) []reconcile.Request {
			return []reconcile.Request{named(ev.Cluster + "-" + ev.Object.GetName())}
		})).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: 2, SkipNameValidation: ptr.To(true)}).
		Complete(mcreconcile.Func(func(_ context.Context, req mcreconcile.Request) (reconcile.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			got[req]++
			return reconcile.Result{}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	}()

	f.register("edge", kubeconfig(t, targetConfig, ""))
	f.connected("edge")
	child(t, newNamespace(t, targetAdmin), "remote-child")
	local := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t, hubAdmin), Name: "local-child", Labels: ours}}
	if err := hubAdmin.Create(t.Context(), local); err != nil {
		t.Fatal(err)
	}
	eventually(t, 15*time.Second, func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		for _, want := range []string{"changed-edge", "changed-", "edge-remote-child", "-local-child"} {
			if got[mcreconcile.Request{Request: named(want)}] == 0 {
				return errNotYet
			}
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	for req := range got {
		if req.ClusterName != "" {
			t.Errorf("a request carries the cluster %q", req.ClusterName)
		}
	}
}

func TestARestartOverAHealthyFleetWritesNothing(t *testing.T) {
	first := newFleet(t)
	first.register("edge", kubeconfig(t, targetConfig, ""))
	first.connected("edge")
	before := first.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	first.stop()

	second := idleFleet(t, func(o *Options) { o.ClustersNamespace = first.namespace })
	second.namespace = first.namespace
	var seen []error
	second.start()
	eventually(t, 20*time.Second, func(context.Context) error {
		_, err := second.resolve("edge", "default")
		if err != nil {
			seen = append(seen, err)
		}
		return err
	})
	for _, err := range seen {
		if u, ok := AsUnavailable(err); !ok || u.Cause != CauseStarting {
			t.Errorf("a Cinder would have been told %v", err)
		}
	}
	second.settled(second.connected("edge"))
	after, err := second.targetCluster(t.Context(), "edge")
	if err != nil {
		t.Fatal(err)
	}
	if before.ResourceVersion != after.ResourceVersion {
		t.Errorf("the TargetCluster was written: %+v, then %+v", before.Status, after.Status)
	}
}

func TestANameRegisteredAnewRightAwayIsConnectedAnew(t *testing.T) {
	f := newFleet(t)
	secret := f.register("edge", kubeconfig(t, targetConfig, ""))
	last := f.connected("edge")
	for range 5 {
		if err := hubAdmin.Delete(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		secret = f.register("edge", kubeconfig(t, targetConfig, ""))
		eventually(t, 10*time.Second, func(context.Context) error {
			now, err := f.resolve("edge", "default")
			if err != nil {
				return err
			}
			if now == last {
				return errNotYet
			}
			last = now
			return nil
		})
	}
	tc := f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		var err error
		if tc, err = f.targetCluster(ctx, "edge"); err != nil {
			return err
		}
		if len(tc.OwnerReferences) != 1 || tc.OwnerReferences[0].UID != secret.UID {
			return errNotYet
		}
		return nil
	})
	if f.up("edge") != 1 {
		t.Errorf("up is %v", f.up("edge"))
	}
}
