// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

const (
	oldImage = "registry.example.org/openstack/cinder:2026.1"
	newImage = "registry.example.org/openstack/cinder:2026.2"
	hold     = "fake/hold"
)

// fixture is one Cinder on the target, Ready with a backend and a backup target.
type fixture struct {
	*testing.T
	cinder *v1alpha1.Cinder
	edge   *harness.Cluster
	op     *harness.Operator
}

func install(t *testing.T, ns string) *fixture {
	t.Helper()
	f := &fixture{T: t, edge: lab.Targets[target]}
	lab.Register(t, target, f.edge)
	lab.Namespace(t, ns, f.edge)
	f.op = lab.StartOperator(t)
	f.cinder = harness.Cinder(ns, "cinder", target)
	lab.Deploy(t, f.cinder)
	lab.WaitReady(t, harness.ReadyTimeout, f.cinder)
	return f
}

// restart ends the operator and starts another one.
func (f *fixture) restart() {
	f.Helper()
	f.op.Stop(f)
	f.op = lab.StartOperator(f)
}

func (f *fixture) setRelease(release, tag string) {
	f.Helper()
	harness.Change(f, lab.Hub, f.cinder, func(c *v1alpha1.Cinder) { c.Spec.OpenStackRelease, c.Spec.Image.Tag = release, tag })
}

// jobEnd decides how the Jobs of that name end.
func (f *fixture) jobEnd(job string, args ...string) {
	f.Helper()
	lab.Run(f, append([]string{"job-end", target, "--namespace", f.cinder.Namespace, "--job", job}, args...)...)
}

// holdJob keeps the Jobs of that name running until a later decision.
func (f *fixture) holdJob(job string) {
	f.Helper()
	f.jobEnd(job, "--hold")
	f.Cleanup(func() { f.jobEnd(job, "--clear") })
}

func (f *fixture) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: f.cinder.Namespace, Name: name}
}

// runningJob waits until a pod of the Job runs, and returns the Job's UID.
func (f *fixture) runningJob(name string) types.UID {
	f.Helper()
	job := &batchv1.Job{}
	harness.Eventually(f, harness.ReadyTimeout, "Job "+name+" runs", func(ctx context.Context) error {
		if err := f.edge.Client.Get(ctx, f.key(name), job); err != nil {
			return err
		}
		if job.Status.Ready == nil || *job.Status.Ready == 0 {
			return fmt.Errorf("status is %+v", job.Status)
		}
		return nil
	})
	return job.UID
}

func (f *fixture) sameJob(name string, uid types.UID) {
	f.Helper()
	job := &batchv1.Job{}
	if f.edge.Get(f, f.key(name), job); job.UID != uid {
		f.Errorf("Job %s was run anew", name)
	}
}

func (f *fixture) awaitDatabase(reason string) {
	f.Helper()
	lab.WaitFor(f, harness.ReadyTimeout, f.cinder, harness.Want{Type: v1alpha1.ConditionDatabaseReady, Reason: reason})
}

func (f *fixture) deployment(name string) *appsv1.Deployment {
	f.Helper()
	d := &appsv1.Deployment{}
	f.edge.Get(f, f.key(name), d)
	return d
}

func (f *fixture) imageOf(name string) string {
	f.Helper()
	return f.deployment(name).Spec.Template.Spec.Containers[0].Image
}

// holdPods keeps the new pods of a Deployment from starting, or lets them. The
// annotation is not the operator's, which leaves it alone.
func (f *fixture) holdPods(name string, on bool) {
	f.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.cinder.Namespace, Name: name}}
	harness.Change(f, f.edge, d, func(d *appsv1.Deployment) {
		if !on {
			delete(d.Spec.Template.Annotations, hold)
			return
		}
		if d.Spec.Template.Annotations == nil {
			d.Spec.Template.Annotations = map[string]string{}
		}
		d.Spec.Template.Annotations[hold] = "true"
	})
}

// events are the notes of the Cinder's events of a reason, with how often each
// was given.
func (f *fixture) events(reason string) []string {
	f.Helper()
	list := &eventsv1.EventList{}
	if err := lab.Hub.Client.List(f.Context(), list, client.InNamespace(f.cinder.Namespace)); err != nil {
		f.Fatal(err)
	}
	var notes []string
	for _, e := range list.Items {
		if e.Reason != reason || e.Regarding.Name != f.cinder.Name || e.Regarding.Kind != "Cinder" {
			continue
		}
		notes = append(notes, e.Note)
		if e.Series != nil {
			notes = append(notes, slices.Repeat([]string{e.Note}, int(e.Series.Count)-1)...)
		}
	}
	return notes
}

// wantOneEvent waits for the event of a reason and wants no second one.
func (f *fixture) wantOneEvent(reason string, parts ...string) {
	f.Helper()
	harness.Eventually(f, 10*time.Second, "event "+reason, func(context.Context) error {
		if len(f.events(reason)) == 0 {
			return fmt.Errorf("not given")
		}
		return nil
	})
	notes := f.events(reason)
	if len(notes) != 1 {
		f.Errorf("event %s was given %d times: %q", reason, len(notes), notes)
	}
	for _, part := range parts {
		if !strings.Contains(notes[0], part) {
			f.Errorf("event %s says %q, which lacks %q", reason, notes[0], part)
		}
	}
}

// pods are the pods of one component.
func (f *fixture) pods(component string) []corev1.Pod {
	f.Helper()
	list := &corev1.PodList{}
	err := f.edge.Client.List(f.Context(), list, client.InNamespace(f.cinder.Namespace), client.MatchingLabels{"app.kubernetes.io/component": component})
	if err != nil {
		f.Fatal(err)
	}
	return list.Items
}

// awaitJobEnd waits until the Job has succeeded.
func (f *fixture) awaitJobEnd(name string) {
	f.Helper()
	harness.Eventually(f, harness.ReadyTimeout, "Job "+name+" ends", func(ctx context.Context) error {
		job := &batchv1.Job{}
		if err := f.edge.Client.Get(ctx, f.key(name), job); err != nil {
			return err
		}
		if job.Status.Succeeded == 0 {
			return fmt.Errorf("status is %+v", job.Status)
		}
		return nil
	})
}
