// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"time"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/controllers/pipeline"
)

// The intervals of the reconciler, by what waits for them.
const (
	// RequeueNextPass follows a finalizer that was added.
	RequeueNextPass = time.Second
	// RequeueDeploymentPolling is the readiness poll of a rollout that the
	// pipeline waits for.
	RequeueDeploymentPolling = 10 * time.Second
	// RequeueSecretPolling is the poll of stores, credentials, derived Secrets
	// and of a target cluster that does not resolve.
	RequeueSecretPolling = 15 * time.Second
	// RequeueDatabaseWait is the poll of the database gate, the db-sync Job and
	// the config wait.
	RequeueDatabaseWait = 30 * time.Second
	// RequeueUpgradeWait is the poll of an upgrade's phase Jobs.
	RequeueUpgradeWait = 30 * time.Second
	// RequeueHealthCheck is the retry of a health probe that failed.
	RequeueHealthCheck = 10 * time.Second
	// HealthCheckTTL is how long a passing health probe is reused.
	HealthCheckTTL = 30 * time.Second
)

// Intervals are the waits of the reconciler. The zero value of a field stands
// for the constant of the same name; tests lengthen them to prove that an event
// alone moves a condition.
type Intervals struct {
	NextPass, DeploymentPolling, SecretPolling, DatabaseWait, UpgradeWait, HealthCheck, HealthCheckTTL time.Duration
}

func (i Intervals) withDefaults() Intervals {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&i.NextPass, RequeueNextPass},
		{&i.DeploymentPolling, RequeueDeploymentPolling},
		{&i.SecretPolling, RequeueSecretPolling},
		{&i.DatabaseWait, RequeueDatabaseWait},
		{&i.UpgradeWait, RequeueUpgradeWait},
		{&i.HealthCheck, RequeueHealthCheck},
		{&i.HealthCheckTTL, HealthCheckTTL},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return i
}

// The names of the steps, as they stand in the sub_reconciler label.
const (
	stepSecrets            = "Secrets"
	stepDBConnectionSecret = "DBConnectionSecret"
	stepTransportURLSecret = "TransportURLSecret"
	stepBackends           = "Backends"
	stepBackupBackend      = "BackupBackend"
	stepConfig             = "Config"
	stepDatabase           = "Database"
	stepScheduler          = "Scheduler"
	stepVolumeServices     = "VolumeServices"
	stepBackupService      = "BackupService"
	stepDeployment         = "Deployment"
	stepDBPurge            = "DBPurge"
	stepHTTPRoute          = "HTTPRoute"
	stepHealthCheck        = "HealthCheck"
	stepHPA                = "HPA"
	stepVPA                = "VPA"
	stepNetworkPolicy      = "NetworkPolicy"
)

// engine builds the step table. The order is part of the contract: the workloads
// roll in the order in which the lane ensures them.
func (r *Reconciler) engine(metrics *pipeline.Metrics) *pipeline.Engine[*Pass] {
	type step = pipeline.Step[*Pass]
	return &pipeline.Engine[*Pass]{
		Sequential: []step{
			{Name: stepSecrets, Condition: v1alpha1.ConditionSecretsReady, Run: r.reconcileSecrets},
			{Name: stepDBConnectionSecret, Condition: v1alpha1.ConditionSecretsReady, Run: r.reconcileDBConnectionSecret},
			{Name: stepTransportURLSecret, Condition: v1alpha1.ConditionSecretsReady, Run: r.reconcileTransportURLSecret},
			{Name: stepBackends, Condition: v1alpha1.ConditionBackendsReady, Run: r.settling(EventCinderBackendSkipped, r.reconcileBackends, r.unreadBackend)},
			{Name: stepBackupBackend, Condition: v1alpha1.ConditionBackupBackendReady, Run: r.settling(EventCinderBackupBackendSkipped, r.reconcileBackupBackend, r.unreadBackupBackend)},
			{Name: stepConfig, Condition: v1alpha1.ConditionSecretsReady, Run: r.reconcileConfig},
			{Name: stepDatabase, Condition: v1alpha1.ConditionDatabaseReady, Run: r.reconcileDatabase},
			{Name: stepScheduler, Condition: v1alpha1.ConditionSchedulerReady, Run: r.reconcileScheduler},
			{Name: stepVolumeServices, Condition: v1alpha1.ConditionVolumeServicesReady, Run: r.reconcileVolumeServices},
			{Name: stepBackupService, Condition: v1alpha1.ConditionBackupServiceReady, Run: r.reconcileBackupService},
			{Name: stepDeployment, Condition: v1alpha1.ConditionDeploymentReady, Run: r.reconcileDeployment},
			{Name: stepDBPurge, Condition: v1alpha1.ConditionDBPurgeReady, Run: r.reconcileDBPurge},
		},
		Parallel: []step{
			{Name: stepHTTPRoute, Condition: v1alpha1.ConditionHTTPRouteReady, Run: r.reconcileHTTPRoute},
			{Name: stepHealthCheck, Condition: v1alpha1.ConditionCinderAPIReady, Run: r.reconcileHealthCheck},
			{Name: stepHPA, Condition: v1alpha1.ConditionHPAReady, Run: r.reconcileHPA},
			{Name: stepVPA, Condition: v1alpha1.ConditionVPAReady, Run: r.reconcileVPA},
			{Name: stepNetworkPolicy, Condition: v1alpha1.ConditionNetworkPolicyReady, Run: r.reconcileNetworkPolicy},
		},
		OnError: r.onStepError,
		Metrics: metrics,
	}
}
