// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ConditionReady is the aggregate of every kind: True when the resource does what it is for.
const ConditionReady = "Ready"

// Condition types of a Cinder, in the order in which a pass over it sets them.
const (
	ConditionSecretsReady        = "SecretsReady"
	ConditionBackendsReady       = "BackendsReady"
	ConditionBackupBackendReady  = "BackupBackendReady"
	ConditionDatabaseReady       = "DatabaseReady"
	ConditionSchedulerReady      = "SchedulerReady"
	ConditionVolumeServicesReady = "VolumeServicesReady"
	ConditionBackupServiceReady  = "BackupServiceReady"
	ConditionDeploymentReady     = "DeploymentReady"
	ConditionDBPurgeReady        = "DBPurgeReady"
	ConditionHTTPRouteReady      = "HTTPRouteReady"
	ConditionCinderAPIReady      = "CinderAPIReady"
	ConditionHPAReady            = "HPAReady"
	ConditionVPAReady            = "VPAReady"
	ConditionNetworkPolicyReady  = "NetworkPolicyReady"

	// ConditionExtraConfigHealthy is outside the aggregate: it tells of options that the user owns, and an API that
	// serves fine must not lose its readiness over them.
	ConditionExtraConfigHealthy = "ExtraConfigHealthy"
)

// Condition types of a CinderBackend and of a CinderBackupBackend.
const (
	// ConditionCredentialsReady is True when the storage's credentials are there, or none are needed.
	ConditionCredentialsReady = "CredentialsReady"

	// ConditionConfigProjected is True when the service's Deployment names the Secret rendered for the resource.
	ConditionConfigProjected = "ConfigProjected"
)

// Condition types of a TargetCluster.
const (
	// ConditionAccepted is True when the registration is usable.
	ConditionAccepted = "Accepted"

	// ConditionConnected is True while the cluster answers.
	ConditionConnected = "Connected"

	// ConditionPermitted is True when the account may do all that the operator needs. It informs, and does not count
	// for Ready.
	ConditionPermitted = "Permitted"
)

// CinderSubConditions returns the fourteen condition types that a Cinder's Ready is the aggregate of, in the order in
// which a pass sets them. The slice is the caller's.
func CinderSubConditions() []string {
	return []string{
		ConditionSecretsReady,
		ConditionBackendsReady,
		ConditionBackupBackendReady,
		ConditionDatabaseReady,
		ConditionSchedulerReady,
		ConditionVolumeServicesReady,
		ConditionBackupServiceReady,
		ConditionDeploymentReady,
		ConditionDBPurgeReady,
		ConditionHTTPRouteReady,
		ConditionCinderAPIReady,
		ConditionHPAReady,
		ConditionVPAReady,
		ConditionNetworkPolicyReady,
	}
}

// SatelliteSubConditions returns the condition types that the Ready of a CinderBackend and of a CinderBackupBackend is
// the aggregate of. The slice is the caller's.
func SatelliteSubConditions() []string {
	return []string{ConditionCredentialsReady, ConditionConfigProjected}
}
