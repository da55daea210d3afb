// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

var phases = []v1alpha1.UpgradePhase{
	v1alpha1.UpgradePhaseExpanding, v1alpha1.UpgradePhaseMigrating, v1alpha1.UpgradePhaseRollingUpdate, v1alpha1.UpgradePhaseContracting,
}

func TestAnUpgradeCanBeAbortedInEveryPhase(t *testing.T) {
	t.Parallel()
	for i, phase := range phases {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			f := onTarget(t)
			f.register("edge")
			f.install()
			var synced batchv1.Job
			f.awaitChild(&synced, "cinder-db-sync")
			f.bump()
			f.toPhase(phase)

			// The release alone: the image, which disagrees now, is not looked at yet.
			f.update(func(cr *v1alpha1.Cinder) { cr.Spec.OpenStackRelease = "2026.1" })
			f.awaitOneEvent("UpgradeAborted", corev1.EventTypeNormal, string(phase), "2026.2")
			f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonImageReleaseMismatch)
			if s := f.get().Status; s.InstalledRelease != "2026.1" || s.TargetRelease != "" || s.UpgradePhase != "" {
				t.Errorf("the status is %+v", s)
			}
			for _, name := range []string{"cinder-db-expand", "cinder-db-migrate", "cinder-db-contract"} {
				f.awaitGone(&batchv1.Job{}, name)
			}
			f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Image.Tag = "2026.1" })
			f.awaitReady()
			for _, w := range rollOrder {
				if got := f.imageOf(w.name); got != oldImage {
					t.Errorf("%s is on %s after the abort", w.name, got)
				}
			}
			var now batchv1.Job
			if f.awaitChild(&now, "cinder-db-sync"); now.UID != synced.UID {
				t.Error("the schema of the installed release was migrated anew")
			}
			if i > 0 {
				return
			}
			// And what was aborted can be begun anew.
			f.bump()
			f.toPhase(v1alpha1.UpgradePhaseMigrating)
		})
	}
}

func TestAFailedPhaseIsRetriedByDeletingItsJob(t *testing.T) {
	t.Parallel()
	for phase, c := range map[v1alpha1.UpgradePhase]struct{ job, reason, next string }{
		v1alpha1.UpgradePhaseExpanding:   {"cinder-db-expand", v1alpha1.ReasonExpandFailed, v1alpha1.ReasonMigrateInProgress},
		v1alpha1.UpgradePhaseMigrating:   {"cinder-db-migrate", v1alpha1.ReasonMigrateFailed, v1alpha1.ReasonUpgradeRollingUpdate},
		v1alpha1.UpgradePhaseContracting: {"cinder-db-contract", v1alpha1.ReasonContractFailed, v1alpha1.ReasonDBSyncInProgress},
	} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			f := onHub(t)
			f.install()
			f.bump()
			f.toPhase(phase)
			job := f.endJob(c.job, false)
			message := f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, c.reason)
			if err := contains(message, c.job, "too many pods failed", "delete it to retry"); err != nil {
				t.Error(err)
			}
			f.awaitOneEvent(c.reason, corev1.EventTypeWarning, c.job, "too many pods failed")
			f.awaitPhase(phase)
			if err := f.children.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				t.Fatal(err)
			}
			f.awaitNewJob(c.job, job.UID)
			f.endNextJob(c.job)
			f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, c.next)
			f.awaitOneEvent(c.reason, corev1.EventTypeWarning)
		})
	}
}

func TestAnotherTargetInMidUpgradeIsHeldUntilTheSpecDecides(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	f.bump()
	f.toPhase(v1alpha1.UpgradePhaseRollingUpdate)
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.OpenStackRelease, cr.Spec.Image.Tag = "2027.1", "2027.1" })
	message := f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonUpgradeTargetChanged)
	if err := contains(message, "2026.1", "2026.2", "2027.1"); err != nil {
		t.Error(err)
	}
	f.awaitOneEvent("UpgradeTargetChanged", corev1.EventTypeWarning)
	f.setRollout("cinder-scheduler", 0)
	f.awaitPhase(v1alpha1.UpgradePhaseRollingUpdate)
	f.bump()
	f.awaitImage("cinder-volume-nfs-a", newImage)
	if got := f.imageOf("cinder-scheduler"); got != newImage {
		t.Errorf("the scheduler went to %s", got)
	}
	if got := f.events("UpgradeInitiated"); len(got) != 1 {
		t.Errorf("the upgrade began %d times", len(got))
	}
}

func TestAPathThatDoesNotLeadToTheNextReleaseIsRefused(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.install()
	for _, c := range []struct{ installed, wanted, reason string }{
		{"2026.1", "2027.1", v1alpha1.ReasonUpgradePathInvalid},
		{"2026.1", "2025.2", v1alpha1.ReasonDowngradeNotSupported},
		{"zed", "2025.2", v1alpha1.ReasonVersionParseError},
	} {
		f.setInstalled(c.installed)
		f.update(func(cr *v1alpha1.Cinder) { cr.Spec.OpenStackRelease, cr.Spec.Image.Tag = c.wanted, c.wanted })
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, c.reason)
		f.awaitOneEvent(c.reason, corev1.EventTypeWarning)
		// Passes that say the same again say it in the condition alone.
		f.update(func(cr *v1alpha1.Cinder) { cr.Annotations = map[string]string{"test/again": c.reason} })
		f.eventually("a pass over the annotated Cinder", func(context.Context) error {
			if cr := f.get(); cr.Status.ObservedGeneration != cr.Generation || cr.Status.UpgradePhase != "" {
				return fmt.Errorf("status is %+v", cr.Status)
			}
			return nil
		})
		f.awaitOneEvent(c.reason, corev1.EventTypeWarning)
	}
	for _, w := range rollOrder {
		if got := f.imageOf(w.name); got != oldImage {
			t.Errorf("%s is on %s", w.name, got)
		}
	}
	f.setInstalled("2026.1")
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.OpenStackRelease, cr.Spec.Image.Tag = "2026.1", "2026.1" })
	f.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady)
}

// setInstalled writes what no other than the operator may: what another version
// of it, or a restored backup, has left.
func (f *fixture) setInstalled(release string) {
	f.Helper()
	f.eventually("write the installed release", func(ctx context.Context) error {
		cr := f.get()
		cr.Status.InstalledRelease = release
		return suite.hub.Status().Update(ctx, cr)
	})
}

func TestTheMigrationWaitsForAnImageOfTheReleaseAndForAConfiguration(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.secrets()
	f.cinder(func(cr *v1alpha1.Cinder) {
		cr.Spec.Image.Tag = "2026.2-p1"
		cr.Spec.Logging = &v1alpha1.LoggingSpec{PerLoggerLevels: map[string]v1alpha1.LogLevel{"cinder\x01": "DEBUG"}}
	})
	f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForConfig)
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Logging = nil })
	message := f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonImageReleaseMismatch)
	if err := contains(message, "2026.2-p1", "2026.1"); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*v1alpha1.ImageSpec){
		func(i *v1alpha1.ImageSpec) { i.Tag = "2026.1-p1" },
		func(i *v1alpha1.ImageSpec) { i.Tag = "main-3f2c" },
		func(i *v1alpha1.ImageSpec) {
			i.Tag, i.Digest = "", "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		},
	} {
		f.update(func(cr *v1alpha1.Cinder) { change(&cr.Spec.Image) })
		want := f.get().Spec.Image.Reference()
		f.eventually("a migration with "+want, func(context.Context) error {
			var job batchv1.Job
			f.awaitChild(&job, "cinder-db-sync")
			if got := job.Spec.Template.Spec.Containers[0].Image; got != want {
				return fmt.Errorf("it runs %s", got)
			}
			return nil
		})
	}
	f.endNextJob("cinder-db-sync")
	f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionTrue, v1alpha1.ReasonDatabaseSynced)
	if got := f.get().Status.InstalledRelease; got != "2026.1" {
		t.Errorf("the installed release is %q", got)
	}
}
