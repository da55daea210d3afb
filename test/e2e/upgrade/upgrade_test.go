// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// rollOrder is the order in which the workloads roll.
var rollOrder = []struct{ name, component, condition string }{
	{"cinder-scheduler", "scheduler", v1alpha1.ConditionSchedulerReady},
	{"cinder-volume-cinder-nfs", "volume-cinder-nfs", v1alpha1.ConditionVolumeServicesReady},
	{"cinder-backup", "backup", v1alpha1.ConditionBackupServiceReady},
	{"cinder", "api", v1alpha1.ConditionDeploymentReady},
}

func TestAnUpgradeOnATargetSurvivesARestartInEveryPhase(t *testing.T) {
	f := install(t, "upgrade")
	edge, hub := f.edge.Mark(t), lab.Hub.Mark(t)
	for _, job := range []string{"cinder-db-expand", "cinder-db-migrate", "cinder-db-contract"} {
		f.holdJob(job)
	}
	f.setRelease("2026.2", "2026.2")

	expand := f.runningJob("cinder-db-expand")
	f.awaitDatabase(v1alpha1.ReasonExpandInProgress)
	f.restart()
	f.jobEnd("cinder-db-expand")

	migrate := f.runningJob("cinder-db-migrate")
	f.sameJob("cinder-db-expand", expand)
	f.awaitDatabase(v1alpha1.ReasonMigrateInProgress)
	for _, w := range rollOrder {
		if got := f.imageOf(w.name); got != oldImage {
			t.Errorf("%s is on %s before the roll", w.name, got)
		}
	}
	f.restart()
	f.holdPods("cinder-scheduler", true)
	f.endMigration(migrate)

	f.awaitDatabase(v1alpha1.ReasonUpgradeRollingUpdate)
	f.sameJob("cinder-db-migrate", migrate)
	f.wantOneEvent("UpgradeCheckWarnings", "exited with 1")
	f.holdEachWorkload()

	contract := f.runningJob("cinder-db-contract")
	f.awaitDatabase(v1alpha1.ReasonContractInProgress)
	for _, w := range rollOrder {
		for _, pod := range f.pods(w.component) {
			if pod.Spec.Containers[0].Image != newImage {
				t.Errorf("pod %s of an earlier release beside the contract Job", pod.Name)
			}
		}
	}
	f.restart()
	f.sameJob("cinder-db-contract", contract)
	f.jobEnd("cinder-db-contract")

	lab.WaitReady(t, harness.ReadyTimeout, f.cinder)
	if s := f.cinder.Status; s.InstalledRelease != "2026.2" || s.UpgradePhase != "" || s.TargetRelease != "" {
		t.Errorf("the status is %+v", s)
	}
	for _, w := range rollOrder[:3] {
		if got := f.deployment(w.name).Spec.Template.Annotations["cinder.c5c3.io/installed-release"]; got != "2026.2" {
			t.Errorf("%s did not roll once more after the promotion: %q", w.name, got)
		}
	}
	for _, reason := range []string{"UpgradeInitiated", "ExpandComplete", "MigrateComplete", "UpgradeCheckWarnings", "DeploymentRolloutComplete", "UpgradeComplete"} {
		f.wantOneEvent(reason)
	}
	// The pods of the upgrade check are read once, and nothing of the hub's.
	if listed := edge.PodsListed(t, f.cinder.Namespace); !slices.Equal(listed, []types.UID{migrate}) {
		t.Errorf("pods were listed for the Jobs %v, want once for %s", listed, migrate)
	}
	if listed := hub.PodsListed(t, f.cinder.Namespace); len(listed) > 0 {
		t.Errorf("pods were listed on the hub for the Jobs %v", listed)
	}
}

// endMigration lets the first attempt of the upgrade check fail, and the next
// one end with warnings.
func (f *fixture) endMigration(job types.UID) {
	f.Helper()
	const says = "cinder-status upgrade check exit "
	f.jobEnd("cinder-db-migrate", "--exit-code", "255", "--message", says+"255")
	harness.Eventually(f, harness.ReadyTimeout, "the first attempt fails", func(ctx context.Context) error {
		j := &batchv1.Job{}
		if err := f.edge.Client.Get(ctx, f.key("cinder-db-migrate"), j); err != nil {
			return err
		}
		if j.UID != job || j.Status.Failed == 0 {
			return fmt.Errorf("Job %s has the status %+v", j.UID, j.Status)
		}
		return nil
	})
	f.jobEnd("cinder-db-migrate", "--exit-code", "0", "--message", says+"1")
}

// holdEachWorkload walks the roll. Each workload's new pods are held in turn, and
// meanwhile nothing that comes after it moves; the operator is restarted over the
// second.
func (f *fixture) holdEachWorkload() {
	f.Helper()
	for i, w := range rollOrder {
		harness.Eventually(f, harness.ReadyTimeout, w.name+" begins to roll", func(context.Context) error {
			if got := f.imageOf(w.name); got != newImage {
				return fmt.Errorf("it is on %s", got)
			}
			return nil
		})
		if i == 1 {
			f.restart()
		}
		held := func(ctx context.Context) error {
			for _, later := range rollOrder[i+1:] {
				if got := f.imageOf(later.name); got != oldImage {
					return fmt.Errorf("%s is on %s while %s is held", later.name, got, w.name)
				}
			}
			if err := f.edge.Client.Get(ctx, f.key("cinder-db-contract"), &batchv1.Job{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("a contract Job is there while %s is held: %w", w.name, err)
			}
			return nil
		}
		lab.WaitFor(f, harness.ReadyTimeout, f.cinder,
			harness.Want{Type: w.condition, Status: "False", Message: w.name}, harness.Want{Type: v1alpha1.ConditionDatabaseReady, Reason: v1alpha1.ReasonUpgradeRollingUpdate})
		harness.Consistently(f, 2*time.Second, w.name+" holds the roll", held)
		if i+1 < len(rollOrder) {
			f.holdPods(rollOrder[i+1].name, true)
		}
		f.holdPods(w.name, false)
	}
}

func TestAnAbortedUpgradeLeavesTheInstalledReleaseRunning(t *testing.T) {
	f := install(t, "abort")
	f.holdPods("cinder-volume-cinder-nfs", true)
	f.setRelease("2026.2", "2026.2")
	lab.WaitFor(t, harness.ReadyTimeout, f.cinder, harness.Want{Type: v1alpha1.ConditionVolumeServicesReady, Status: "False", Message: "cinder-volume-cinder-nfs"},
		harness.Want{Type: v1alpha1.ConditionDatabaseReady, Reason: v1alpha1.ReasonUpgradeRollingUpdate})
	f.op.Kill()
	f.setRelease("2026.1", "2026.1")
	f.holdPods("cinder-volume-cinder-nfs", false)
	f.op = lab.StartOperator(t)
	f.wantOneEvent("UpgradeAborted", string(v1alpha1.UpgradePhaseRollingUpdate))
	lab.WaitReady(t, harness.ReadyTimeout, f.cinder)
	for _, w := range rollOrder {
		if got := f.imageOf(w.name); got != oldImage {
			t.Errorf("%s is on %s", w.name, got)
		}
	}
	for _, name := range []string{"cinder-db-expand", "cinder-db-migrate", "cinder-db-contract"} {
		if err := f.edge.Client.Get(t.Context(), f.key(name), &batchv1.Job{}); !apierrors.IsNotFound(err) {
			t.Errorf("Job %s is left: %v", name, err)
		}
	}
	harness.Eventually(t, harness.ReadyTimeout, "no pod of the aborted release", func(context.Context) error {
		for _, component := range []string{"job", "scheduler", "volume-cinder-nfs", "backup", "api"} {
			for _, pod := range f.pods(component) {
				if pod.Spec.Containers[0].Image == newImage && pod.Status.Phase != corev1.PodSucceeded {
					return fmt.Errorf("pod %s is left", pod.Name)
				}
			}
		}
		return nil
	})
}
