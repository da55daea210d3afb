// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"go.uber.org/goleak"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/test/e2e/goroutines"
)

const (
	// never is a poll that no test lives to see: what happens was woken by an event.
	never = time.Hour

	eventDeadline = 90 * time.Second
)

// startControllers runs both controllers in a manager, with the indexes that the
// Cinder's controller registers in the operator.
func startControllers(t *testing.T, f *fixture) {
	t.Helper()
	// The connections of the test's own client stay.
	before := goleak.IgnoreCurrent()
	mgr, err := mcmanager.New(config, nil, mcmanager.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	must(t, err)
	local := mgr.GetLocalManager()
	for _, index := range []struct {
		obj     client.Object
		field   string
		extract client.IndexerFunc
	}{
		{&v1alpha1.Cinder{}, indexTargetClusterRef, func(o client.Object) []string {
			c, _ := o.(*v1alpha1.Cinder)
			return []string{clusterOf(c)}
		}},
		{&v1alpha1.CinderBackend{}, indexCinderRef, func(o client.Object) []string { return []string{backends().read(o).cinder} }},
		{&v1alpha1.CinderBackupBackend{}, indexCinderRef, func(o client.Object) []string { return []string{backupBackends().read(o).cinder} }},
		{&v1alpha1.CinderBackend{}, indexSecretRefs, func(o client.Object) []string { return keySecret(backends().read(o)) }},
		{&v1alpha1.CinderBackupBackend{}, indexSecretRefs, func(o client.Object) []string { return keySecret(backupBackends().read(o)) }},
	} {
		must(t, local.GetFieldIndexer().IndexField(f.ctx, index.obj, index.field, index.extract))
	}
	options := f.options
	options.Poll = never
	options.Client, options.APIReader, options.SkipNameValidation = local.GetClient(), local.GetAPIReader(), true
	must(t, SetupWithManager(mgr, options))

	ctx, stop := context.WithCancel(context.WithoutCancel(f.ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the manager ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the manager does not end")
		}
		local.GetHTTPClient().CloseIdleConnections()
		if err := goroutines.Find(before); err != nil {
			t.Error(err)
		}
	})
}

func keySecret(s satellite) []string {
	if s.pool == nil {
		return nil
	}
	return []string{s.pool.KeySecretRef.Name}
}

// eventually waits for "Status/Reason" of a condition.
func (f *fixture) eventually(obj client.Object, condition, want string) {
	f.t.Helper()
	got := "nothing"
	err := wait.PollUntilContextTimeout(f.ctx, 50*time.Millisecond, eventDeadline, true, func(ctx context.Context) (bool, error) {
		if err := api.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return false, err
		}
		if c := meta.FindStatusCondition(*kindOf(obj).read(obj).conditions, condition); c != nil {
			got = string(c.Status) + "/" + c.Reason
		}
		return got == want, nil
	})
	if err != nil {
		f.t.Fatalf("%s %s: %s = %s, want %s: %v", kindOf(obj).name, obj.GetName(), condition, got, want, err)
	}
}

func TestEventsAloneMoveTheConditionsOfSatellites(t *testing.T) {
	f := newFixture(t)
	startControllers(t, f)
	backend, backup, rbd := nfsBackend(f.namespace), nfsBackup(f.namespace), rbdBackend(f.namespace)
	all := []client.Object{backend, backup}
	for _, obj := range append(all, rbd) {
		must(t, api.Create(f.ctx, obj))
	}
	for _, obj := range all {
		f.eventually(obj, v1alpha1.ConditionConfigProjected, "False/"+v1alpha1.ReasonWaitingForProjection)
	}
	f.eventually(rbd, v1alpha1.ConditionCredentialsReady, "False/"+v1alpha1.ReasonWaitingForCredentials)

	t.Log("a Deployment that takes the projection")
	for _, obj := range all {
		f.project(obj)
		d := &appsv1.Deployment{}
		must(t, api.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: kindOf(obj).deployment(cinderName, obj.GetName())}, d))
		f.registry.happened(clusters.Event{Cluster: "edge-1", Object: d})
		f.eventually(obj, v1alpha1.ConditionReady, "True/"+v1alpha1.ReasonAllReady)
	}

	t.Log("a key Secret that appears")
	must(t, api.Create(f.ctx, cephSecret(f.namespace)))
	input := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "ceph"}}
	input.APIVersion, input.Kind = "v1", "Secret"
	f.registry.happened(clusters.Event{Cluster: "edge-1", Object: input})
	f.eventually(rbd, v1alpha1.ConditionCredentialsReady, "True/"+v1alpha1.ReasonCredentialsAvailable)

	t.Log("a cluster that is lost, and comes back")
	f.registry.answer(&clusters.UnavailableError{Cluster: "edge-1", Cause: clusters.CauseUnreachable, Message: "unreachable"})
	f.registry.changed("edge-1")
	for _, obj := range all {
		f.eventually(obj, v1alpha1.ConditionCredentialsReady, "False/"+v1alpha1.ReasonTargetClusterUnavailable)
	}
	f.registry.answer(nil)
	f.registry.changed("edge-1")
	for _, obj := range all {
		f.eventually(obj, v1alpha1.ConditionReady, "True/"+v1alpha1.ReasonAllReady)
	}

	t.Log("a Cinder whose status alone changes")
	for _, step := range []struct {
		holds *v1alpha1.TargetClusterStatusRef
		want  string
	}{
		{&v1alpha1.TargetClusterStatusRef{Name: "edge-1", UID: "another"}, "False/" + v1alpha1.ReasonTargetClusterUnavailable},
		{nil, "True/" + v1alpha1.ReasonCredentialsNotRequired},
	} {
		must(t, api.Get(f.ctx, client.ObjectKeyFromObject(f.cinder), f.cinder))
		f.cinder.Status.TargetCluster = step.holds
		must(t, api.Status().Update(f.ctx, f.cinder))
		for _, obj := range all {
			f.eventually(obj, v1alpha1.ConditionCredentialsReady, step.want)
		}
	}

	t.Log("a Cinder that goes, and comes back")
	must(t, api.Delete(f.ctx, f.cinder))
	for _, obj := range all {
		f.eventually(obj, v1alpha1.ConditionCredentialsReady, "False/"+v1alpha1.ReasonWaitingForParent)
	}
	f.cinder = newCinder(f.namespace)
	must(t, api.Create(f.ctx, f.cinder))
	for _, obj := range all {
		f.eventually(obj, v1alpha1.ConditionCredentialsReady, "True/"+v1alpha1.ReasonCredentialsNotRequired)
	}
}

func TestAnEventOfAnotherClusterWakesNobody(t *testing.T) {
	f := newFixture(t)
	r := &reconciler{Options: f.options, kind: backends()}
	d := deployment(f.namespace, "cinder-volume-nfs-a", "s")
	scope, err := f.options.Projector.Scope(f.target, f.cinder)
	must(t, err)
	d.Labels = scope.Labels()
	if !r.lives(f.ctx, f.namespace, cinderName, "edge-1") {
		t.Error("the Cinder is not found on the cluster it names")
	}
	for _, cluster := range []string{"", "edge-2"} {
		if got := r.ofEvent(f.ctx, clusters.Event{Cluster: cluster, Object: d}); len(got) > 0 {
			t.Errorf("an event of cluster %q wakes %v", cluster, got)
		}
	}
}
