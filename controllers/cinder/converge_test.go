// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

func TestAFailedMigrationStopsThePassAndIsRetriedByDeletingItsJob(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.secrets()
	f.cinder()
	job := f.endJob("cinder-db-sync", false)
	if err := contains(f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonDBSyncFailed), "cinder-db-sync", "too many pods failed"); err != nil {
		t.Error(err)
	}
	f.awaitEvent("DBSyncFailed")
	if got := f.get().Annotations["cinder.c5c3.io/last-db-sync-job-uid"]; got != string(job.UID) {
		t.Errorf("the remembered Job is %q, want %q", got, job.UID)
	}
	err := f.children.Get(t.Context(), client.ObjectKey{Namespace: f.ns, Name: "cinder-scheduler"}, &appsv1.Deployment{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the pass went on after a failed migration: %v", err)
	}

	if err := f.children.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	f.awaitNewJob("cinder-db-sync", job.UID)
	f.endJob("cinder-db-sync", true)
	f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionTrue, v1alpha1.ReasonDatabaseSynced)
	f.awaitEvent("DatabaseSynced")

	labels := map[string]float64{"succeeded": 1, "failed": 1}
	for result, want := range labels {
		if got := f.counter("cinder_operator_db_sync_total", "result", result); got != want {
			t.Errorf("db_sync_total{result=%q} is %v, want %v", result, got, want)
		}
	}
	f.removeCinder()
	f.eventually("no series of the Cinder", func(context.Context) error {
		if got := f.counter("cinder_operator_db_sync_total", "result", "succeeded"); got != 0 {
			return fmt.Errorf("db_sync_total is still %v", got)
		}
		return nil
	})
}

func (f *fixture) awaitNewJob(name string, former types.UID) {
	f.Helper()
	f.eventually("a new Job "+name, func(ctx context.Context) error {
		var job batchv1.Job
		if err := f.children.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: name}, &job); err != nil {
			return err
		}
		if job.UID == former {
			return fmt.Errorf("the Job is still %s", former)
		}
		return nil
	})
}

// counter reads one series of the test's Cinder; zero when it is not there.
func (f *fixture) counter(name, label, value string) float64 {
	f.Helper()
	families, err := suite.metrics.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			if have["namespace"] == f.ns && have[label] == value {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

func TestANewImageRunsTheMigrationAnewBeforeTheWorkloadsRoll(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	var job batchv1.Job
	f.awaitChild(&job, "cinder-db-sync")
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Image.Tag = "2026.1-p1" })
	f.awaitNewJob("cinder-db-sync", job.UID)
	f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonDBSyncInProgress)
	var scheduler appsv1.Deployment
	f.awaitChild(&scheduler, "cinder-scheduler")
	if got := scheduler.Spec.Template.Spec.Containers[0].Image; got != "registry.example.org/cinder:2026.1" {
		t.Errorf("the scheduler rolled to %s before the migration", got)
	}
	f.endJob("cinder-db-sync", true)
	f.awaitReady()
}

func TestTheHealthConditionNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	status := func(code int, message string) clusters.ServiceResponse {
		return clusters.ServiceResponse{StatusCode: code, FromProxy: true, Body: fmt.Appendf(nil, `{"kind":"Status","status":"Failure","message":%q,"code":%d}`, message, code)}
	}
	for _, c := range []struct {
		says   string
		answer clusters.ServiceResponse
		reason string
	}{
		{"another status", unhealthy(http.StatusServiceUnavailable), v1alpha1.ReasonAPIUnhealthy},
		{"no endpoints", status(503, `no endpoints available for service "cinder"`), v1alpha1.ReasonEndpointNotReady},
		{"a Service that is gone", status(404, `services "cinder" not found`), v1alpha1.ReasonHealthCheckFailed},
		{"endpoints not written yet", status(404, `endpoints "cinder" not found`), v1alpha1.ReasonEndpointNotReady},
		{"a refused connection", status(503, "error trying to reach service: dial tcp 10.0.0.1:8776: connect: connection refused"), v1alpha1.ReasonConnectionFailed},
		{"a silent pod", status(504, "error trying to reach service: context deadline exceeded"), v1alpha1.ReasonHealthCheckTimeout},
		{"a forbidden proxy", status(403, "services \"cinder\" is forbidden"), v1alpha1.ReasonHealthCheckFailed},
	} {
		suite.health.set(f.ns, c.answer)
		f.awaitCondition(v1alpha1.ConditionCinderAPIReady, metav1.ConditionFalse, c.reason)
	}
	suite.health.set(f.ns, clusters.ServiceResponse{StatusCode: http.StatusOK})
	f.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady)
}

func TestADriftedChildIsRepairedAndAForeignOneRefused(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.create(f.children, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "cinder", Namespace: f.ns},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	})
	f.secrets()
	f.cinder()
	f.endJob("cinder-db-sync", true)
	if err := contains(f.awaitCondition(v1alpha1.ConditionDeploymentReady, metav1.ConditionUnknown, v1alpha1.ReasonReconcileError), "Service "+f.ns+"/cinder"); err != nil {
		t.Error(err)
	}

	var scheduler appsv1.Deployment
	f.awaitChild(&scheduler, "cinder-scheduler")
	if err := f.children.Delete(t.Context(), &scheduler); err != nil {
		t.Fatal(err)
	}
	f.eventually("another scheduler Deployment", func(context.Context) error {
		var d appsv1.Deployment
		f.awaitChild(&d, "cinder-scheduler")
		if d.UID == scheduler.UID || d.DeletionTimestamp != nil {
			return fmt.Errorf("the Deployment is still %s", d.UID)
		}
		return nil
	})
}

func TestABackendThatLeavesTakesItsVolumeServiceAlong(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	second := f.backend("nfs-c")
	f.awaitChild(&appsv1.Deployment{}, "cinder-volume-nfs-c")
	f.awaitReady()

	// What could not be read leaves the live projection alone.
	f.sayCredentials(second, &second.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.GlanceEndpoint = "https://glance.example.org" })
	f.endNextJob("cinder-db-sync")
	f.awaitReady()
	var held appsv1.Deployment
	f.awaitChild(&held, "cinder-volume-nfs-c")

	// What was read and is missing takes it down.
	f.sayCredentials(second, &second.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonWaitingForCredentials)
	f.awaitCondition(v1alpha1.ConditionBackendsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackends)
	f.collect("cinder-volume-nfs-c")
	f.awaitNoRevision("cinder-backend-nfs-c-")
	if s := f.get().Status.VolumeServices; len(s) != 1 {
		t.Errorf("volume services are %v", s)
	}

	if err := suite.hub.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	f.awaitCondition(v1alpha1.ConditionBackendsReady, metav1.ConditionTrue, v1alpha1.ReasonAllBackendsProjected)
}

// endNextJob ends a Job that has not ended yet.
func (f *fixture) endNextJob(name string) {
	f.Helper()
	f.eventually("a running Job "+name, func(context.Context) error {
		var job batchv1.Job
		f.awaitChild(&job, name)
		if len(job.Status.Conditions) > 0 {
			return fmt.Errorf("the Job %s has ended", job.UID)
		}
		return nil
	})
	f.endJob(name, true)
}

// awaitGone waits until nothing but the API server's own finalizers hold an
// object: no garbage collector runs here.
func (f *fixture) awaitGone(obj client.Object, name string) {
	f.Helper()
	f.eventually(fmt.Sprintf("%T %s to go", obj, name), func(ctx context.Context) error {
		err := f.children.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: name}, obj)
		if err == nil && obj.GetDeletionTimestamp() == nil {
			return errors.New("it is still there")
		}
		return client.IgnoreNotFound(err)
	})
}

func (f *fixture) awaitNoRevision(prefix string) {
	f.Helper()
	f.eventually("no Secret "+prefix, func(ctx context.Context) error {
		var list corev1.SecretList
		if err := f.children.List(ctx, &list, client.InNamespace(f.ns)); err != nil {
			return err
		}
		for _, s := range list.Items {
			if contains(s.Name, prefix) == nil {
				return fmt.Errorf("Secret %s is left", s.Name)
			}
		}
		return nil
	})
}

// passes waits until three more passes went all the way.
func (f *fixture) passes() {
	f.Helper()
	asked := suite.health.asked(f.ns)
	f.eventually("three more passes", func(context.Context) error {
		if now := suite.health.asked(f.ns); now < asked+3 {
			return fmt.Errorf("%d probes", now-asked)
		}
		return nil
	})
}

// The probe's time to live is one second here, so passes go on; none of them may
// leave a trace.
func TestASteadyCinderWritesNothing(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.install()
	versions := func() map[string]string {
		children, err := f.ownedIn(t.Context(), f.children)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{"Cinder": f.get().ResourceVersion}
		for _, child := range children {
			out[fmt.Sprintf("%T %s", child, child.GetName())] = child.GetResourceVersion()
		}
		return out
	}
	before := versions()
	f.passes()
	after := versions()
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s went from version %s to %q", name, was, after[name])
		}
	}
}
