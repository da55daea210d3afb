// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var databaseCases = []testCase{
	{"managed-database", hub, (*fixture).managedDatabase},
	{"migration", plain, (*fixture).migration},
}

// managedDatabase waits for the server, and for what is made on it.
func (f *fixture) managedDatabase() {
	typ := v1alpha1.ConditionDatabaseReady
	f.create(func(c *v1alpha1.Cinder) {
		c.Spec.Database.Host, c.Spec.Database.ClusterRef = "", &v1alpha1.ClusterRefSpec{Name: "mariadb"}
	})
	f.says(not(typ, v1alpha1.ReasonClusterNotReady))
	server := f.foreign("MariaDB", mariaDBVersion, "mariadb", map[string]any{"spec": map[string]any{"storage": map[string]any{"size": "1Gi"}}})
	sayReady(f, f.cluster, server, "True")
	f.says(not(typ, v1alpha1.ReasonWaitingForDatabase))
	for _, kind := range []string{"Database", "User", "Grant"} {
		sayReady(f, f.cluster, unstructuredOf(kind, mariaDBVersion, f.ns, "cinder"), "True")
	}
	f.says(is(typ, v1alpha1.ReasonDatabaseSynced))
}

// migration is a schema migration that hangs, fails and is retried; then the
// life of a Cinder without storage.
func (f *fixture) migration() {
	typ := v1alpha1.ConditionDatabaseReady
	f.holdJob("cinder-db-sync")
	f.create(func(c *v1alpha1.Cinder) {
		c.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"debug": "true"}}
	})
	f.runningJob("cinder-db-sync")
	f.says(not(typ, v1alpha1.ReasonDBSyncInProgress), not(v1alpha1.ConditionExtraConfigHealthy, v1alpha1.ReasonOwnedKeysOverridden))
	f.failJob("cinder-db-sync")
	f.says(not(typ, v1alpha1.ReasonDBSyncFailed))
	f.endJobs("cinder-db-sync")
	f.retry("cinder-db-sync")
	f.says(is(typ, v1alpha1.ReasonDatabaseSynced),
		is(v1alpha1.ConditionBackendsReady, v1alpha1.ReasonNoBackends), not(v1alpha1.ConditionVolumeServicesReady, v1alpha1.ReasonNoBackends),
		is(v1alpha1.ConditionBackupBackendReady, v1alpha1.ReasonNoBackupBackend), is(v1alpha1.ConditionBackupServiceReady, v1alpha1.ReasonBackupNotConfigured),
		is(v1alpha1.ConditionDBPurgeReady, v1alpha1.ReasonDBPurgeScheduled))
	f.purge()
	// Both results of one kind of Job, and one of another.
	metrics := f.operator.Scrape(f)
	if err := errors.Join(metrics.JobsEnded(f.cinder, "db_sync", 1, 1), metrics.JobsEnded(f.cinder, "db_purge", 0, 1)); err != nil {
		f.Error(err)
	}
	f.change(func(c *v1alpha1.Cinder) { c.Spec.ExtraConfig = nil })
	f.says(is(v1alpha1.ConditionExtraConfigHealthy, v1alpha1.ReasonNoOwnedKeysOverridden))
}

// purge is a run that an administrator starts and that wedges.
func (f *fixture) purge() {
	f.Helper()
	typ := v1alpha1.ConditionDBPurgeReady
	f.holdJob("by-hand")
	lab.Run(f, "kubectl", f.target, "--", "--namespace", f.ns, "create", "job", "by-hand", "--from=cronjob/cinder-db-purge")
	f.runningJob("by-hand")
	f.failJob("by-hand")
	f.says(not(typ, v1alpha1.ReasonDBPurgeJobFailed))
	f.change(func(c *v1alpha1.Cinder) { c.Spec.DBPurge = &v1alpha1.DBPurgeSpec{Suspend: ptr.To(true)} })
	f.says(is(typ, v1alpha1.ReasonDBPurgeSuspended))
}

func (f *fixture) clusterName() string {
	if f.target == hub {
		return harness.HubName
	}
	return f.target
}

// holdJob keeps the pods of the Jobs of that name running.
func (f *fixture) holdJob(name string) {
	f.Helper()
	lab.Run(f, "job-end", f.clusterName(), "--namespace", f.ns, "--job", name, "--hold")
}

// endJobs lets the pods of the Jobs of that name end well.
func (f *fixture) endJobs(name string) {
	f.Helper()
	lab.Run(f, "job-end", f.clusterName(), "--namespace", f.ns, "--job", name, "--clear")
}

// runningJob waits until a pod of the Job runs.
func (f *fixture) runningJob(name string) {
	f.Helper()
	job := &batchv1.Job{}
	harness.Eventually(f, harness.ReadyTimeout, "Job "+name+" runs", func(ctx context.Context) error {
		if err := f.cluster.Client.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: name}, job); err != nil {
			return err
		}
		if ptr.Deref(job.Status.Ready, 0) == 0 {
			return fmt.Errorf("status is %+v", job.Status)
		}
		return nil
	})
}

// failJob lets the deadline of a Job run out now.
func (f *fixture) failJob(name string) {
	f.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name}}
	harness.Change(f, f.cluster, job, func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) })
}

// retry deletes a Job that failed.
func (f *fixture) retry(name string) {
	f.Helper()
	f.remove(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name}})
}
