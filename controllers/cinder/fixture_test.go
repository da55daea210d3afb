// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

const (
	cinderName = "cinder"
	waitFor    = 90 * time.Second
	waitStep   = 100 * time.Millisecond
)

var namespaces atomic.Int64

// fixture is one test's namespace, on the hub and where its children live.
type fixture struct {
	*testing.T
	ns string
	// target is the registered name; empty for children on the hub.
	target   string
	children client.Client
	// hub holds the Cinder.
	hub client.Client
}

func onHub(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.children = suite.hub
	return f
}

func onTarget(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.target, f.children = "edge-"+f.ns, suite.edge
	f.create(suite.edge, namespace(f.ns))
	return f
}

// onFull is a target where every collaborator is served.
func onFull(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.target, f.children = "full-"+f.ns, suite.full
	f.create(suite.full, namespace(f.ns))
	f.register("full")
	return f
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, ns: fmt.Sprintf("test-%d", namespaces.Add(1)), hub: suite.hub}
	f.create(suite.hub, namespace(f.ns))
	return f
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func (f *fixture) create(c client.Client, obj client.Object) {
	f.Helper()
	if err := c.Create(f.Context(), obj); err != nil {
		f.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// register registers the cluster of the given kubeconfig under the test's name.
func (f *fixture) register(cluster string, change ...func(*corev1.Secret)) *corev1.Secret {
	f.Helper()
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: f.target, Namespace: clustersNamespace, Labels: map[string]string{v1alpha1.LabelKubeconfig: "true"}},
		Data:       map[string][]byte{v1alpha1.RegistrationKeyKubeconfig: suite.kubeconfig[cluster]},
	}
	for _, c := range change {
		c(s)
	}
	f.create(suite.hub, s)
	f.Cleanup(func() {
		if err := client.IgnoreNotFound(suite.hub.Delete(context.Background(), s)); err != nil {
			f.Error(err)
		}
	})
	return s
}

// secrets makes the credentials that the sample Cinder names.
func (f *fixture) secrets() {
	f.Helper()
	f.secret("db", map[string]string{"username": "cinder", "password": "p@ss$word"})
	f.secret("bus", map[string]string{"transport_url": "rabbit://cinder:secret@rabbit.openstack.svc:5671/" + f.ns})
}

func (f *fixture) secret(name string, data map[string]string) {
	f.Helper()
	f.create(f.children, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.ns}, StringData: data})
}

// cinder creates the sample Cinder: brownfield, without Keystone.
func (f *fixture) cinder(change ...func(*v1alpha1.Cinder)) *v1alpha1.Cinder {
	f.Helper()
	cr := sampleCinder(f.ns, f.target)
	for _, c := range change {
		c(cr)
	}
	f.create(f.hub, cr)
	f.Cleanup(func() { f.removeCinder() })
	return cr
}

func sampleCinder(ns, target string) *v1alpha1.Cinder {
	cr := &v1alpha1.Cinder{
		ObjectMeta: metav1.ObjectMeta{Name: cinderName, Namespace: ns},
		Spec: v1alpha1.CinderSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.org/cinder", Tag: "2026.1"},
			Database:         v1alpha1.DatabaseSpec{Host: "db.openstack.svc", Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: "db"}},
			Cache:            v1alpha1.CacheSpec{Servers: []string{"memcached:11211"}},
			Messaging:        v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "bus"}},
		},
	}
	if target != "" {
		cr.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: target}
	}
	return cr
}

// removeCinder deletes the Cinder and gives its children up where nothing can
// reach them anymore.
func (f *fixture) removeCinder() {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	defer cancel()
	cr := &v1alpha1.Cinder{ObjectMeta: metav1.ObjectMeta{Name: cinderName, Namespace: f.ns}}
	if err := f.hub.Delete(ctx, cr); err != nil {
		if !apierrors.IsNotFound(err) {
			f.Error(err)
		}
		return
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationAbandonChildren+`":"true"}}}`))
	if err := client.IgnoreNotFound(f.hub.Patch(ctx, cr, patch)); err != nil {
		f.Error(err)
	}
	err := wait.PollUntilContextCancel(ctx, waitStep, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(f.hub.Get(ctx, client.ObjectKeyFromObject(cr), cr)), nil
	})
	if err != nil {
		f.Errorf("the Cinder does not go: %v: finalizers %v, conditions %v", err, cr.Finalizers, cr.Status.Conditions)
	}
}

// backend attaches a volume backend whose controller has said that it needs no
// credentials.
func (f *fixture) backend(name string) *v1alpha1.CinderBackend {
	f.Helper()
	b := &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.ns},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName}, Type: v1alpha1.CinderBackendTypeNFS,
			NFS: &v1alpha1.NFSBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{Server: "nfs.example.org", Path: "/" + name}},
		},
	}
	f.create(f.hub, b)
	f.sayCredentials(b, &b.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsNotRequired)
	return b
}

func (f *fixture) backupBackend(name string) *v1alpha1.CinderBackupBackend {
	f.Helper()
	b := &v1alpha1.CinderBackupBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.ns},
		Spec: v1alpha1.CinderBackupBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName}, Type: v1alpha1.CinderBackupBackendTypeNFS,
			NFS: &v1alpha1.NFSBackupBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{Server: "nfs.example.org", Path: "/" + name}},
		},
	}
	f.create(f.hub, b)
	f.sayCredentials(b, &b.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsNotRequired)
	return b
}

// sayCredentials writes what the satellite controller says, which does not run
// in this suite.
func (f *fixture) sayCredentials(obj client.Object, conds *[]metav1.Condition, status metav1.ConditionStatus, reason string) {
	f.Helper()
	meta.SetStatusCondition(conds, metav1.Condition{
		Type: v1alpha1.ConditionCredentialsReady, Status: status, Reason: reason, Message: "by the test", ObservedGeneration: obj.GetGeneration(),
	})
	if err := f.hub.Status().Update(f.Context(), obj); err != nil {
		f.Fatal(err)
	}
}

// eventually waits until check has no complaint, and fails with its last one.
func (f *fixture) eventually(what string, check func(ctx context.Context) error) {
	f.Helper()
	var last error
	err := wait.PollUntilContextTimeout(f.Context(), waitStep, waitFor, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		// A question that the deadline cut short has no answer that says anything.
		if last == nil || err == nil || !strings.Contains(err.Error(), "context deadline") {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		f.Fatalf("%s: %v", what, last)
	}
}

func (f *fixture) get() *v1alpha1.Cinder {
	f.Helper()
	var cr v1alpha1.Cinder
	if err := f.hub.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: cinderName}, &cr); err != nil {
		f.Fatal(err)
	}
	return &cr
}

// awaitCondition waits for a condition and returns its message.
func (f *fixture) awaitCondition(typ string, status metav1.ConditionStatus, reason string) string {
	f.Helper()
	message := ""
	f.eventually(fmt.Sprintf("%s=%s/%s", typ, status, reason), func(context.Context) error {
		cr := f.get()
		c := meta.FindStatusCondition(cr.Status.Conditions, typ)
		if c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("conditions are %s", conditionsText(cr.Status.Conditions))
		}
		message = c.Message
		return nil
	})
	return message
}

func conditionsText(conds []metav1.Condition) string {
	var b strings.Builder
	for _, c := range conds {
		fmt.Fprintf(&b, "\n\t%s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

// awaitChild waits until a child of that name exists.
func (f *fixture) awaitChild(obj client.Object, name string) {
	f.Helper()
	f.eventually(fmt.Sprintf("%T %s", obj, name), func(ctx context.Context) error {
		return f.children.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: name}, obj)
	})
}

// awaitReady rolls the Deployments until the Cinder is Ready.
func (f *fixture) awaitReady() {
	f.Helper()
	f.rollUntil(func(cr *v1alpha1.Cinder) error {
		ready := meta.FindStatusCondition(cr.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != cr.Generation {
			return fmt.Errorf("conditions are %s", conditionsText(cr.Status.Conditions))
		}
		return nil
	})
}

// rollUntil plays the Deployment controller, for which every pod is there at
// once, until done has no complaint.
func (f *fixture) rollUntil(done func(*v1alpha1.Cinder) error) {
	f.Helper()
	f.eventually("the Deployments to roll", func(ctx context.Context) error {
		var list appsv1.DeploymentList
		if err := f.children.List(ctx, &list, client.InNamespace(f.ns)); err != nil {
			return err
		}
		for i := range list.Items {
			d := &list.Items[i]
			if d.Status.ObservedGeneration == d.Generation || d.DeletionTimestamp != nil {
				continue
			}
			n := *d.Spec.Replicas
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			}
			if err := f.children.Status().Update(ctx, d); err != nil {
				return err
			}
		}
		return done(f.get())
	})
}

// endJob plays the Job controller: the Job has ended.
func (f *fixture) endJob(name string, ok bool) *batchv1.Job {
	f.Helper()
	return f.endJobAt(name, ok, metav1.Now())
}

func (f *fixture) endJobAt(name string, ok bool, now metav1.Time) *batchv1.Job {
	f.Helper()
	var job batchv1.Job
	f.awaitChild(&job, name)
	job.Status.StartTime = &now
	if ok {
		job.Status.CompletionTime, job.Status.Succeeded = &now, 1
		job.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
		}
	} else {
		job.Status.Failed = 5
		job.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, LastTransitionTime: now, Reason: batchv1.JobReasonBackoffLimitExceeded},
			{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: now, Reason: batchv1.JobReasonBackoffLimitExceeded, Message: "too many pods failed"},
		}
	}
	if err := f.children.Status().Update(f.Context(), &job); err != nil {
		f.Fatalf("end Job %s: %v", name, err)
	}
	return &job
}

// install brings the sample Cinder with one backend and one backup target to
// Ready.
func (f *fixture) install() {
	f.Helper()
	f.secrets()
	f.cinder()
	f.backend("nfs-a")
	f.backupBackend("nfs-b")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()
}

// awaitEvent waits for an event on the Cinder and returns its note.
func (f *fixture) awaitEvent(reason string) string {
	f.Helper()
	note := ""
	f.eventually("event "+reason, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := f.hub.List(ctx, &list, client.InNamespace(f.ns)); err != nil {
			return err
		}
		i := slices.IndexFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason == reason })
		if i < 0 {
			return fmt.Errorf("%d events, none of that reason", len(list.Items))
		}
		note = list.Items[i].Note
		return nil
	})
	return note
}

func unhealthy(code int) clusters.ServiceResponse {
	return clusters.ServiceResponse{StatusCode: code, Body: []byte(http.StatusText(code))}
}

// contains complains about a text that lacks one of the parts.
func contains(text string, parts ...string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q lacks %q", text, part)
		}
	}
	return nil
}
