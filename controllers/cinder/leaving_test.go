// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// hold deletes a Deployment that a finalizer of somebody else keeps. What is
// returned lets it go.
func (f *fixture) hold(name string) func() {
	f.Helper()
	finalize := func(ctx context.Context, finalizers []string) error {
		var d appsv1.Deployment
		if err := f.children.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: name}, &d); err != nil {
			return err
		}
		d.Finalizers = finalizers
		return f.children.Update(ctx, &d)
	}
	f.eventually("hold Deployment "+name, func(ctx context.Context) error { return finalize(ctx, []string{"example.org/held"}) })
	if err := f.children.Delete(f.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name}}); err != nil {
		f.Fatal(err)
	}
	return func() {
		f.eventually("let Deployment "+name+" go", func(ctx context.Context) error { return finalize(ctx, nil) })
	}
}

// scaleAPI makes a pass happen that goes as far as the API.
func (f *fixture) scaleAPI(replicas int32) {
	f.Helper()
	f.update(func(cr *v1alpha1.Cinder) {
		cr.Spec.API = &v1alpha1.APISpec{Deployment: &v1alpha1.DeploymentSpec{Replicas: ptr.To(replicas)}}
	})
	f.eventually("the API to be scaled", func(context.Context) error {
		if got := *f.deployment(cinderName).Spec.Replicas; got != replicas {
			return fmt.Errorf("it has %d replicas", got)
		}
		return nil
	})
}

// A pod that cannot unmount an export that is out of reach keeps its Deployment
// for as long.
func TestAVolumeServiceThatDoesNotGoTakesNoOtherDown(t *testing.T) {
	t.Parallel()
	places(t, func(f *fixture) {
		f.install()
		leaves := f.heldBackend("nfs-c")
		f.awaitChild(&appsv1.Deployment{}, "cinder-volume-nfs-c")
		f.awaitReady()

		release := f.hold("cinder-volume-nfs-a")
		f.awaitSays(v1alpha1.ConditionVolumeServicesReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForVolumeServices, "cinder-volume-nfs-a", "example.org/held")
		f.backend("nfs-d")
		f.awaitChild(&appsv1.Deployment{}, "cinder-volume-nfs-d")
		f.scaleAPI(4)
		f.deleteBackend(leaves)
		f.collect("cinder-volume-nfs-c")
		f.endJob("cinder-nfs-c-service-remove", true)
		f.awaitReleased(leaves)
		f.awaitSays(v1alpha1.ConditionVolumeServicesReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForVolumeServices, "cinder-volume-nfs-a", "example.org/held")

		// That it is gone is an event.
		release()
		f.awaitReady()
	})
}

func TestASchedulerOrABackupServiceThatDoesNotGoHoldsBackNothing(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	scheduler, backup := f.hold("cinder-scheduler"), f.hold("cinder-backup")
	f.awaitSays(v1alpha1.ConditionSchedulerReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForScheduler, "cinder-scheduler", "example.org/held")
	f.awaitSays(v1alpha1.ConditionBackupServiceReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackupService, "cinder-backup", "example.org/held")
	f.backend("nfs-c")
	f.awaitChild(&appsv1.Deployment{}, "cinder-volume-nfs-c")
	f.scaleAPI(4)
	scheduler()
	backup()
	f.awaitReady()
}

// The API comes last and ends the lane as any rollout of it does.
func TestAnAPIThatDoesNotGoIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	release := f.hold(cinderName)
	f.awaitSays(v1alpha1.ConditionDeploymentReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDeployment, "example.org/held")
	release()
	f.awaitReady()
}
