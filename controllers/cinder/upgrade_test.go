// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const (
	oldImage = "registry.example.org/cinder:2026.1"
	newImage = "registry.example.org/cinder:2026.2"
)

// rollOrder is the order in which the workloads of install roll, and through
// which condition each is waited for.
var rollOrder = []struct{ name, condition, waiting string }{
	{"cinder-scheduler", v1alpha1.ConditionSchedulerReady, v1alpha1.ReasonWaitingForScheduler},
	{"cinder-volume-nfs-a", v1alpha1.ConditionVolumeServicesReady, v1alpha1.ReasonWaitingForVolumeServices},
	{"cinder-backup", v1alpha1.ConditionBackupServiceReady, v1alpha1.ReasonWaitingForBackupService},
	{"cinder", v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonWaitingForDeployment},
}

func (f *fixture) bump() {
	f.Helper()
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.OpenStackRelease, cr.Spec.Image.Tag = "2026.2", "2026.2" })
}

// toPhase walks an upgrade that was just begun up to the start of a phase.
func (f *fixture) toPhase(phase v1alpha1.UpgradePhase) {
	f.Helper()
	if f.awaitPhase(v1alpha1.UpgradePhaseExpanding); phase == v1alpha1.UpgradePhaseExpanding {
		f.awaitChild(&batchv1.Job{}, "cinder-db-expand")
		return
	}
	f.endJob("cinder-db-expand", true)
	if f.awaitPhase(v1alpha1.UpgradePhaseMigrating); phase == v1alpha1.UpgradePhaseMigrating {
		f.awaitChild(&batchv1.Job{}, "cinder-db-migrate")
		return
	}
	f.endJob("cinder-db-migrate", true)
	if f.awaitPhase(v1alpha1.UpgradePhaseRollingUpdate); phase == v1alpha1.UpgradePhaseRollingUpdate {
		f.awaitImage("cinder-scheduler", newImage)
		return
	}
	for _, w := range rollOrder {
		f.awaitImage(w.name, newImage)
		f.setRollout(w.name, 0)
	}
	f.awaitPhase(phase)
	f.awaitChild(&batchv1.Job{}, "cinder-db-contract")
}

func (f *fixture) awaitPhase(phase v1alpha1.UpgradePhase) {
	f.Helper()
	f.eventually(fmt.Sprintf("upgrade phase %q", phase), func(context.Context) error {
		if cr := f.get(); cr.Status.UpgradePhase != phase {
			return fmt.Errorf("the phase is %q: %s", cr.Status.UpgradePhase, conditionsText(cr.Status.Conditions))
		}
		return nil
	})
}

func (f *fixture) deployment(name string) *appsv1.Deployment {
	f.Helper()
	var d appsv1.Deployment
	if err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: name}, &d); err != nil {
		f.Fatal(err)
	}
	return &d
}

func (f *fixture) imageOf(name string) string {
	f.Helper()
	return f.deployment(name).Spec.Template.Spec.Containers[0].Image
}

func (f *fixture) awaitImage(name, image string) {
	f.Helper()
	f.eventually(name+" on "+image, func(context.Context) error {
		if got := f.imageOf(name); got != image {
			return fmt.Errorf("it is on %s", got)
		}
		return nil
	})
}

// setRollout plays the Deployment controller: every wanted pod is there, and so
// are some of an earlier template.
func (f *fixture) setRollout(name string, former int32) {
	f.Helper()
	f.eventually("write the status of Deployment "+name, func(ctx context.Context) error {
		d := f.deployment(name)
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: n + former, UpdatedReplicas: n, ReadyReplicas: n + former, AvailableReplicas: n + former,
		}
		return f.children.Status().Update(ctx, d)
	})
}

// pod makes a pod that ended, as the Job of that UID would have.
func (f *fixture) pod(name string, job types.UID, phase corev1.PodPhase, message string) {
	f.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.ns, Labels: map[string]string{batchv1.ControllerUidLabel: string(job)}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "cinder-manage", Image: newImage}},
		},
	}
	f.create(f.children, pod)
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "cinder-manage", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}},
	}}
	if err := f.children.Status().Update(f.Context(), pod); err != nil {
		f.Fatal(err)
	}
}

// events are the events of a reason on the Cinder; each is expected to have been
// given once.
func (f *fixture) events(reason string) []eventsv1.Event {
	f.Helper()
	var list eventsv1.EventList
	if err := suite.hub.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
		f.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason != reason })
}

func (f *fixture) awaitOneEvent(reason, kind string, parts ...string) {
	f.Helper()
	f.awaitEvent(reason)
	list := f.events(reason)
	if len(list) != 1 || list[0].Series != nil || list[0].Type != kind {
		f.Errorf("event %s was given as %+v", reason, list)
		return
	}
	if err := contains(list[0].Note, parts...); err != nil {
		f.Errorf("event %s: %v", reason, err)
	}
}

func places(t *testing.T, test func(f *fixture)) {
	for name, make := range map[string]func(*testing.T) *fixture{"on the hub": onHub, "on a target": onTarget} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := make(t)
			if f.target != "" {
				f.register("edge")
			}
			test(f)
		})
	}
}

func TestAnUpgradeWalksItsFourPhases(t *testing.T) {
	t.Parallel()
	places(t, func(f *fixture) {
		f.install()
		var synced batchv1.Job
		f.awaitChild(&synced, "cinder-db-sync")
		f.bump()
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonExpandInProgress)
		f.awaitOneEvent("UpgradeInitiated", corev1.EventTypeNormal, "2026.1", "2026.2")
		expand := f.endJob("cinder-db-expand", true)
		if got := expand.Annotations["cinder.c5c3.io/rerun-key"]; got != "2026.1-2026.2" || expand.Spec.Template.Spec.Containers[0].Image != newImage {
			f.Errorf("the expand Job has the key %q and runs %s", got, expand.Spec.Template.Spec.Containers[0].Image)
		}
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonMigrateInProgress)
		f.awaitOneEvent("ExpandComplete", corev1.EventTypeNormal)
		for _, w := range rollOrder {
			if got := f.imageOf(w.name); got != oldImage {
				f.Errorf("%s is on %s before the roll", w.name, got)
			}
		}
		f.endMigration()
		f.awaitOneEvent("UpgradeCheckWarnings", corev1.EventTypeWarning, "exited with 1")
		f.awaitOneEvent("MigrateComplete", corev1.EventTypeNormal)

		f.holdEachWorkload()
		f.awaitOneEvent("DeploymentRolloutComplete", corev1.EventTypeNormal)
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonContractInProgress)
		if cr := f.get(); cr.Status.InstalledRelease != "2026.1" || cr.Status.TargetRelease != "2026.2" {
			f.Errorf("before the contract phase the status is %+v", cr.Status)
		}
		f.endJob("cinder-db-contract", true)
		f.awaitOneEvent("UpgradeComplete", corev1.EventTypeNormal)
		f.awaitNewJob("cinder-db-sync", synced.UID)
		f.endNextJob("cinder-db-sync")
		f.awaitReady()
		if s := f.get().Status; s.InstalledRelease != "2026.2" || s.TargetRelease != "" || s.UpgradePhase != "" {
			f.Errorf("after the upgrade the status is %+v", s)
		}
		for _, w := range rollOrder {
			want := "2026.2"
			if w.name == cinderName {
				want = ""
			}
			if got := f.deployment(w.name).Spec.Template.Annotations["cinder.c5c3.io/installed-release"]; got != want {
				f.Errorf("the pods of %s carry the release %q, want %q", w.name, got, want)
			}
		}
		for _, reason := range []string{"UpgradeInitiated", "ExpandComplete", "MigrateComplete", "UpgradeCheckWarnings", "DeploymentRolloutComplete", "UpgradeComplete"} {
			if list := f.events(reason); len(list) != 1 || list[0].Series != nil {
				f.Errorf("event %s was given %d times", reason, len(list))
			}
		}
		if list := f.events("UpgradeCheckCompleted"); len(list) != 0 {
			f.Errorf("the check was told twice: %+v", list)
		}
	})
}

// endMigration ends the migrate Job: one attempt failed, the next had warnings,
// and a pod of an earlier Job of that name is still there.
func (f *fixture) endMigration() {
	f.Helper()
	var job batchv1.Job
	f.awaitChild(&job, "cinder-db-migrate")
	f.pod("migrate-former", "another-uid", corev1.PodSucceeded, "cinder-status upgrade check exit 0")
	f.pod("migrate-2", job.UID, corev1.PodSucceeded, "cinder-status upgrade check exit 1")
	f.pod("migrate-1", job.UID, corev1.PodFailed, "cinder-status upgrade check exit 255")
	f.endJob("cinder-db-migrate", true)
}

// holdEachWorkload walks the roll. While one workload is held, first without new
// pods and then with one of the earlier release beside them, nothing that comes
// after it may move.
func (f *fixture) holdEachWorkload() {
	f.Helper()
	for i, w := range rollOrder {
		f.awaitImage(w.name, newImage)
		f.awaitCondition(w.condition, metav1.ConditionFalse, w.waiting)
		f.setRollout(w.name, 1)
		f.eventually(w.name+" to be held", func(context.Context) error {
			return contains(f.awaitCondition(w.condition, metav1.ConditionFalse, w.waiting), w.name+" still has pods of an earlier template")
		})
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonUpgradeRollingUpdate)
		for _, later := range rollOrder[i+1:] {
			if got := f.imageOf(later.name); got != oldImage {
				f.Errorf("%s is on %s while %s is held", later.name, got, w.name)
			}
		}
		err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: "cinder-db-contract"}, &batchv1.Job{})
		if !apierrors.IsNotFound(err) {
			f.Errorf("a contract Job is there while %s is held: %v", w.name, err)
		}
		if got := f.deployment(w.name).Spec.Template.Annotations["cinder.c5c3.io/installed-release"]; got != "2026.1" && w.name != cinderName {
			f.Errorf("%s carries the release %q before the promotion", w.name, got)
		}
		f.setRollout(w.name, 0)
	}
}

func TestACheckWhoseExitCannotBeReadHoldsNothing(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.install()
	f.bump()
	// The Job's pods are gone by the time it is seen to have ended.
	f.toPhase(v1alpha1.UpgradePhaseRollingUpdate)
	f.awaitOneEvent("UpgradeCheckCompleted", corev1.EventTypeNormal, "unavailable")
	var job batchv1.Job
	f.awaitChild(&job, "cinder-db-migrate")
	if got := f.get().Annotations["cinder.c5c3.io/last-db-migrate-job-uid"]; got != string(job.UID) {
		t.Errorf("the remembered Job is %q, want %q", got, job.UID)
	}
}
