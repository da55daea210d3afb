// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/controllers/cinder"
)

const backendUIDAnnotation = "cinder.c5c3.io/backend-uid"

// heldBackend attaches a volume backend that carries its finalizer.
func (f *fixture) heldBackend(name string) *v1alpha1.CinderBackend {
	f.Helper()
	b := f.backend(name)
	f.edit(b, func() { controllerutil.AddFinalizer(b, v1alpha1.FinalizerServiceRemove) })
	return b
}

// edit changes an object of the hub, again after a conflict.
func (f *fixture) edit(obj client.Object, change func()) {
	f.Helper()
	f.eventually(fmt.Sprintf("edit %T %s", obj, obj.GetName()), func(ctx context.Context) error {
		if err := suite.hub.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change()
		return suite.hub.Update(ctx, obj)
	})
}

func (f *fixture) deleteBackend(b *v1alpha1.CinderBackend) {
	f.Helper()
	if err := suite.hub.Delete(f.Context(), b); err != nil {
		f.Fatal(err)
	}
}

// awaitReleased waits until a backend is gone from the hub.
func (f *fixture) awaitReleased(b *v1alpha1.CinderBackend) {
	f.Helper()
	f.eventually("CinderBackend "+b.Name+" to be released", func(ctx context.Context) error {
		err := suite.hub.Get(ctx, client.ObjectKeyFromObject(b), b)
		if err == nil {
			return fmt.Errorf("it has the finalizers %v", b.Finalizers)
		}
		return client.IgnoreNotFound(err)
	})
}

// awaitForeground waits until a Deployment is being deleted with its pods first.
func (f *fixture) awaitForeground(name string) {
	f.Helper()
	f.eventually("Deployment "+name+" to be deleted in the foreground", func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := f.children.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: name}, &d); err != nil {
			return err
		}
		if !slices.Contains(d.Finalizers, metav1.FinalizerDeleteDependents) {
			return fmt.Errorf("deleted at %v with finalizers %v", d.DeletionTimestamp, d.Finalizers)
		}
		return nil
	})
}

// collect plays the garbage collector: the last pod of a Deployment is gone.
func (f *fixture) collect(name string) {
	f.Helper()
	f.awaitForeground(name)
	f.eventually("collect Deployment "+name, func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := f.children.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: name}, &d); err != nil {
			return client.IgnoreNotFound(err)
		}
		d.Finalizers = nil
		return f.children.Update(ctx, &d)
	})
}

// runPass makes a pass happen that goes at least as far as the scheduler.
func (f *fixture) runPass(replicas int32) {
	f.Helper()
	f.update(func(cr *v1alpha1.Cinder) {
		cr.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{Replicas: ptr.To(replicas)}}
	})
	f.eventually("a pass over the new spec", func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := f.children.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: "cinder-scheduler"}, &d); err != nil {
			return err
		}
		if cr := f.get(); *d.Spec.Replicas != replicas || cr.Status.ObservedGeneration != cr.Generation {
			return fmt.Errorf("the scheduler has %d replicas, generation %d is observed", *d.Spec.Replicas, cr.Status.ObservedGeneration)
		}
		return nil
	})
}

func (f *fixture) noChild(obj client.Object, name string) {
	f.Helper()
	if err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: name}, obj); !apierrors.IsNotFound(err) {
		f.Errorf("get %T %s: %v, want that it does not exist", obj, name, err)
	}
}

// mountedByBackup tells whether the backup pods mount the export of a backend.
func (f *fixture) mountedByBackup(share string) (bool, error) {
	var d appsv1.Deployment
	if err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: "cinder-backup"}, &d); err != nil {
		return false, err
	}
	return slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.CSI != nil && v.CSI.VolumeAttributes["share"] == share
	}), nil
}

func TestABackendIsDetachedStageByStage(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.secrets()
	f.cinder()
	b := f.heldBackend("nfs-a")
	f.backupBackend("nfs-b")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()
	const volume, jobName = "cinder-volume-nfs-a", "cinder-nfs-a-service-remove"

	// First stage: as long as a pod is left, no Job may be there.
	f.deleteBackend(b)
	f.awaitForeground(volume)
	if err := contains(f.awaitCondition(v1alpha1.ConditionVolumeServicesReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForVolumeServices), "nfs-a", volume); err != nil {
		t.Error(err)
	}
	f.runPass(2)
	f.noChild(&batchv1.Job{}, jobName)
	if mounted, err := f.mountedByBackup("/nfs-a"); err != nil || !mounted {
		t.Errorf("the pass went on to the backup service (mounted %t, %v)", mounted, err)
	}

	// Second stage: the Job, for this very backend.
	f.collect(volume)
	var job batchv1.Job
	f.awaitChild(&job, jobName)
	if got := job.Annotations[backendUIDAnnotation]; got != string(b.UID) {
		t.Errorf("the Job is for %q, want %q", got, b.UID)
	}
	if command := strings.Join(job.Spec.Template.Spec.Containers[0].Command, " "); !strings.Contains(command, "cinder@nfs-a") || job.Spec.TTLSecondsAfterFinished != nil {
		t.Errorf("the Job runs %q with the time to live %v", command, job.Spec.TTLSecondsAfterFinished)
	}
	failed := f.endJob(jobName, false)
	if err := contains(f.awaitCondition(v1alpha1.ConditionVolumeServicesReady, metav1.ConditionFalse, v1alpha1.ReasonServiceRemoveJobFailed), jobName, "nfs-a"); err != nil {
		t.Error(err)
	}
	if err := contains(f.awaitEvent("ServiceRemoveJobFailed"), jobName); err != nil {
		t.Error(err)
	}
	// A failed Job keeps the finalizer and the projection, and the pass goes on.
	f.runPass(3)
	f.eventually("the backup pods to leave the export", func(context.Context) error {
		if mounted, err := f.mountedByBackup("/nfs-a"); err != nil || mounted {
			return fmt.Errorf("mounted %t, %w", mounted, err)
		}
		return nil
	})
	if err := suite.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		t.Errorf("get the backend: %v, want that it is held", err)
	}
	if n := f.revisions("cinder-backend-nfs-a-"); n != 1 {
		t.Errorf("%d projections of the backend, want one", n)
	}
	const series = "cinder_operator_service_remove_total"
	if n := f.counter(series, "result", "failed"); n != 1 {
		t.Errorf("%v failed removals counted, want one", n)
	}

	// Deleting the Job retries; then the projection goes whole, and the backend.
	if err := f.children.Delete(t.Context(), failed, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	f.eventually("another Job", func(context.Context) error {
		f.awaitChild(&job, jobName)
		if job.UID == failed.UID {
			return errors.New("it is still the failed one")
		}
		return nil
	})
	f.endJob(jobName, true)
	f.awaitReleased(b)
	f.awaitNoRevision("cinder-backend-nfs-a-")
	f.awaitGone(&batchv1.Job{}, jobName)
	f.awaitCondition(v1alpha1.ConditionVolumeServicesReady, metav1.ConditionFalse, v1alpha1.ReasonNoBackends)
	if err := contains(f.awaitEvent("ServiceRemoved"), "cinder@nfs-a", jobName); err != nil {
		t.Error(err)
	}
	if n := f.counter(series, "result", "succeeded"); n != 1 {
		t.Errorf("%v removals counted, want one", n)
	}
	f.awaitForgotten()
}

func (f *fixture) revisions(prefix string) int {
	f.Helper()
	var list corev1.SecretList
	if err := f.children.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
		f.Fatal(err)
	}
	n := 0
	for _, s := range list.Items {
		if strings.HasPrefix(s.Name, prefix) {
			n++
		}
	}
	return n
}

// awaitForgotten waits until no annotation remembers a detach.
func (f *fixture) awaitForgotten() {
	f.Helper()
	f.eventually("no annotation of a detach", func(context.Context) error {
		for key := range f.get().Annotations {
			if strings.Contains(key, "service-remove") {
				return fmt.Errorf("%s is left", key)
			}
		}
		return nil
	})
}

func TestBackendsAreDetachedInNameOrderAndAFailedOneHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	first, second := f.heldBackend("nfs-a"), f.heldBackend("nfs-c")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()

	f.deleteBackend(first)
	f.awaitForeground("cinder-volume-nfs-a")
	f.deleteBackend(second)
	f.runPass(2)
	var waits appsv1.Deployment
	f.awaitChild(&waits, "cinder-volume-nfs-c")
	if waits.DeletionTimestamp != nil {
		t.Error("the second backend's Deployment went before its turn")
	}
	f.collect("cinder-volume-nfs-a")
	f.endJob("cinder-nfs-a-service-remove", false)
	f.collect("cinder-volume-nfs-c")
	f.endJob("cinder-nfs-c-service-remove", true)
	f.awaitReleased(second)
	if err := contains(f.awaitCondition(v1alpha1.ConditionVolumeServicesReady, metav1.ConditionFalse, v1alpha1.ReasonServiceRemoveJobFailed), "nfs-a"); err != nil {
		t.Error(err)
	}

	// One that is let go by hand takes its Job and its annotation along.
	f.edit(first, func() { controllerutil.RemoveFinalizer(first, v1alpha1.FinalizerServiceRemove) })
	f.awaitReleased(first)
	f.awaitGone(&batchv1.Job{}, "cinder-nfs-a-service-remove")
	f.awaitNoRevision("cinder-backend-nfs-a-")
	f.awaitForgotten()
}

func TestASucceededRemovalIsNotRunAgainForAnotherConfiguration(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	b := f.heldBackend("nfs-a")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()
	f.deleteBackend(b)
	f.collect("cinder-volume-nfs-a")
	job := batchv1.Job{}
	f.awaitChild(&job, "cinder-nfs-a-service-remove")

	// While the pass is held at the database the Job ends.
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Image.Tag = "2026.1-p1" })
	f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonDBSyncInProgress)
	f.endJob("cinder-nfs-a-service-remove", true)
	f.endJob("cinder-db-sync", true)
	f.awaitReleased(b)
	if n := f.counter("cinder_operator_service_remove_total", "result", "succeeded"); n != 1 {
		t.Errorf("%v removals counted, want one", n)
	}
}

// Cinders and backends come by watches of their own: the copy at hand may be of before.
func TestNoBackendIsDetachedFromACinderThatIsBeingDeleted(t *testing.T) {
	f := onTarget(t)
	cr := f.cinder(func(c *v1alpha1.Cinder) { c.Finalizers = []string{"example.org/held"} })
	old := cr.DeepCopy()
	expect := func(state string, want bool) {
		t.Helper()
		if got, err := cinder.HoldsBackDetach(t.Context(), suite.hub, old); err != nil || got != want {
			t.Errorf("a Cinder that %s holds back: %t (%v), want %t", state, got, err, want)
		}
	}
	expect("stays", false)
	if err := suite.hub.Delete(t.Context(), cr); err != nil {
		t.Fatal(err)
	}
	expect("is being deleted", true)
	f.edit(cr, func() { cr.Finalizers = nil })
	expect("is gone", true)
}
