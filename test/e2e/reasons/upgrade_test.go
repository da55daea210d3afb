// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var upgradeCases = []testCase{
	{"release", plain, (*fixture).release},
	{"upgrade", plain, (*fixture).upgrade},
}

func (f *fixture) setRelease(release, tag string) {
	f.Helper()
	f.change(func(c *v1alpha1.Cinder) { c.Spec.OpenStackRelease, c.Spec.Image.Tag = release, tag })
}

// setInstalled writes the one field of a status that a case may write.
func (f *fixture) setInstalled(release string) {
	f.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"installedRelease":"`+release+`"}}`))
	if err := lab.Hub.Client.Status().Patch(f.Context(), f.cinder, patch); err != nil {
		f.Fatal(err)
	}
}

// release is a spec that no upgrade can begin from.
func (f *fixture) release() {
	typ := v1alpha1.ConditionDatabaseReady
	f.create()
	f.says(is(typ, v1alpha1.ReasonDatabaseSynced))
	f.setRelease("2026.1", "2026.2")
	f.says(not(typ, v1alpha1.ReasonImageReleaseMismatch))
	f.setRelease("2025.2", "2025.2")
	f.says(not(typ, v1alpha1.ReasonDowngradeNotSupported))
	f.setRelease("2027.1", "2027.1")
	f.says(not(typ, v1alpha1.ReasonUpgradePathInvalid))
	f.setInstalled("epoxy")
	f.says(not(typ, v1alpha1.ReasonVersionParseError))
}

// upgrade walks through all phases; each Job of them hangs, fails and is retried.
func (f *fixture) upgrade() {
	typ := v1alpha1.ConditionDatabaseReady
	f.create()
	f.says(is(typ, v1alpha1.ReasonDatabaseSynced), is(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonDeploymentReady))
	const expand, migrate, contract = "cinder-db-expand", "cinder-db-migrate", "cinder-db-contract"
	for _, job := range []string{expand, migrate, contract} {
		f.holdJob(job)
	}
	f.setRelease("2026.2", "2026.2")
	f.runningJob(expand)
	f.says(not(typ, v1alpha1.ReasonExpandInProgress))
	f.setRelease("2027.1", "2027.1")
	f.says(not(typ, v1alpha1.ReasonUpgradeTargetChanged))
	f.setRelease("2026.2", "2026.2")
	f.says(not(typ, v1alpha1.ReasonExpandInProgress))
	f.failJob(expand)
	f.says(not(typ, v1alpha1.ReasonExpandFailed))
	f.endJobs(expand)
	f.retry(expand)

	f.runningJob(migrate)
	f.says(not(typ, v1alpha1.ReasonMigrateInProgress))
	f.failJob(migrate)
	f.says(not(typ, v1alpha1.ReasonMigrateFailed))
	f.holdPods("cinder-scheduler", true)
	f.endJobs(migrate)
	f.retry(migrate)

	f.says(not(typ, v1alpha1.ReasonUpgradeRollingUpdate), not(v1alpha1.ConditionSchedulerReady, v1alpha1.ReasonWaitingForScheduler))
	f.holdPods("cinder-scheduler", false)
	f.runningJob(contract)
	f.says(not(typ, v1alpha1.ReasonContractInProgress))
	f.failJob(contract)
	f.says(not(typ, v1alpha1.ReasonContractFailed))
	f.endJobs(contract)
	f.retry(contract)
	f.says(is(typ, v1alpha1.ReasonDatabaseSynced))
}

// holdPods keeps the new pods of a Deployment from starting, or lets them.
func (f *fixture) holdPods(name string, on bool) {
	f.Helper()
	const hold = "fake/hold"
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name}}
	harness.Change(f, f.cluster, d, func(d *appsv1.Deployment) {
		delete(d.Spec.Template.Annotations, hold)
		if on {
			metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, hold, "true")
		}
	})
}
