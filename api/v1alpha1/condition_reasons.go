// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons that several kinds and conditions share.
const (
	// ReasonAllReady: every condition that Ready is the aggregate of is True.
	ReasonAllReady = "AllReady"
	// ReasonNotAllReady: at least one of them is not.
	ReasonNotAllReady = "NotAllReady"
	// ReasonPending: nothing has been found out yet: the step was never reached.
	ReasonPending = "Pending"
	// ReasonReconcileError: the step failed; the message is its error.
	ReasonReconcileError = "ReconcileError"
	// ReasonTargetClusterUnavailable: the cluster that spec.targetClusterRef names cannot be used; the message says why.
	ReasonTargetClusterUnavailable = "TargetClusterUnavailable"
	// ReasonCapabilityProbeFailed: it could not be found out whether the cluster serves the kind.
	ReasonCapabilityProbeFailed = "CapabilityProbeFailed"
)

// Reasons of SecretsReady.
const (
	ReasonSecretsAvailable                 = "SecretsAvailable"
	ReasonSecretStoreNotReady              = "SecretStoreNotReady"
	ReasonClusterSecretStoreUnsupported    = "ClusterSecretStoreUnsupported"
	ReasonWaitingForDBCredentials          = "WaitingForDBCredentials"
	ReasonWaitingForServiceUserCredentials = "WaitingForServiceUserCredentials"
	ReasonWaitingForMessagingCredentials   = "WaitingForMessagingCredentials"
	ReasonConfigError                      = "ConfigError"
)

// Reasons of BackendsReady. NoBackends is also a reason of VolumeServicesReady: False there.
const (
	ReasonAllBackendsProjected = "AllBackendsProjected"
	ReasonNoBackends           = "NoBackends"
	ReasonWaitingForBackends   = "WaitingForBackends"
)

// Reasons of BackupBackendReady.
const (
	ReasonBackupBackendProjected  = "BackupBackendProjected"
	ReasonNoBackupBackend         = "NoBackupBackend"
	ReasonWaitingForBackupBackend = "WaitingForBackupBackend"
	ReasonMultipleBackupBackends  = "MultipleBackupBackends"
)

// Reasons of DatabaseReady.
const (
	ReasonDatabaseSynced        = "DatabaseSynced"
	ReasonClusterNotReady       = "ClusterNotReady"
	ReasonWaitingForDatabase    = "WaitingForDatabase"
	ReasonWaitingForConfig      = "WaitingForConfig"
	ReasonImageReleaseMismatch  = "ImageReleaseMismatch"
	ReasonDBSyncFailed          = "DBSyncFailed"
	ReasonDBSyncInProgress      = "DBSyncInProgress"
	ReasonVersionParseError     = "VersionParseError"
	ReasonDowngradeNotSupported = "DowngradeNotSupported"
	ReasonUpgradePathInvalid    = "UpgradePathInvalid"
	ReasonUpgradeTargetChanged  = "UpgradeTargetChanged"
	ReasonExpandInProgress      = "ExpandInProgress"
	ReasonMigrateInProgress     = "MigrateInProgress"
	ReasonUpgradeRollingUpdate  = "UpgradeRollingUpdate"
	ReasonContractInProgress    = "ContractInProgress"
	ReasonExpandFailed          = "ExpandFailed"
	ReasonMigrateFailed         = "MigrateFailed"
	ReasonContractFailed        = "ContractFailed"
)

// Reasons of SchedulerReady.
const (
	ReasonSchedulerReady      = "SchedulerReady"
	ReasonWaitingForScheduler = "WaitingForScheduler"
)

// Reasons of VolumeServicesReady.
const (
	ReasonAllVolumeServicesReady   = "AllVolumeServicesReady"
	ReasonWaitingForVolumeServices = "WaitingForVolumeServices"
	ReasonServiceRemoveJobFailed   = "ServiceRemoveJobFailed"
)

// Reasons of BackupServiceReady.
const (
	ReasonBackupServiceReady      = "BackupServiceReady"
	ReasonBackupNotConfigured     = "BackupNotConfigured"
	ReasonWaitingForBackupService = "WaitingForBackupService"
)

// Reasons of DeploymentReady.
const (
	ReasonDeploymentReady      = "DeploymentReady"
	ReasonWaitingForDeployment = "WaitingForDeployment"
)

// Reasons of CinderAPIReady.
const (
	ReasonAPIHealthy         = "APIHealthy"
	ReasonAPIUnhealthy       = "APIUnhealthy"
	ReasonEndpointNotReady   = "EndpointNotReady"
	ReasonHealthCheckTimeout = "HealthCheckTimeout"
	ReasonConnectionFailed   = "ConnectionFailed"
	ReasonHealthCheckFailed  = "HealthCheckFailed"
)

// Reasons of HPAReady.
const (
	ReasonHPAReady       = "HPAReady"
	ReasonHPANotRequired = "HPANotRequired"
)

// Reasons of VPAReady.
const (
	ReasonVPAReady        = "VPAReady"
	ReasonVPANotRequired  = "VPANotRequired"
	ReasonVPANotInstalled = "VPANotInstalled"
	ReasonVPAError        = "VPAError"
)

// Reasons of NetworkPolicyReady.
const (
	ReasonNetworkPolicyReady       = "NetworkPolicyReady"
	ReasonNetworkPolicyNotRequired = "NetworkPolicyNotRequired"
)

// Reasons of HTTPRouteReady.
const (
	ReasonHTTPRouteAccepted      = "HTTPRouteAccepted"
	ReasonHTTPRouteNotRequired   = "HTTPRouteNotRequired"
	ReasonHTTPRouteNotAccepted   = "HTTPRouteNotAccepted"
	ReasonGatewayAPINotInstalled = "GatewayAPINotInstalled"
)

// Reasons of DBPurgeReady.
const (
	ReasonDBPurgeScheduled = "DBPurgeScheduled"
	ReasonDBPurgeSuspended = "DBPurgeSuspended"
	ReasonDBPurgeJobFailed = "DBPurgeJobFailed"
)

// Reasons of ExtraConfigHealthy.
const (
	ReasonNoOwnedKeysOverridden = "NoOwnedKeysOverridden"
	ReasonOwnedKeysOverridden   = "OwnedKeysOverridden"
)

// Reasons of CredentialsReady.
const (
	ReasonCredentialsNotRequired = "CredentialsNotRequired"
	ReasonCredentialsAvailable   = "CredentialsAvailable"
	ReasonWaitingForCredentials  = "WaitingForCredentials"
	ReasonWaitingForParent       = "WaitingForParent"
)

// Reasons of ConfigProjected.
const (
	ReasonConfigProjected      = "ConfigProjected"
	ReasonWaitingForProjection = "WaitingForProjection"
)

// Reason of the Ready of a CinderBackend that is being removed from its Cinder.
const (
	ReasonDetaching = "Detaching"
)

// Reasons of Accepted.
const (
	ReasonAccepted                = "Accepted"
	ReasonKubeconfigMissing       = "KubeconfigMissing"
	ReasonKubeconfigInvalid       = "KubeconfigInvalid"
	ReasonCredentialPluginRefused = "CredentialPluginRefused"
	ReasonFileReferenceRefused    = "FileReferenceRefused"
	ReasonInsecureKubeconfig      = "InsecureKubeconfig"
	ReasonLocalAddressRefused     = "LocalAddressRefused"
	ReasonNamespacesInvalid       = "NamespacesInvalid"
)

// Reasons of Connected.
const (
	ReasonConnected       = "Connected"
	ReasonConnecting      = "Connecting"
	ReasonUnreachable     = "Unreachable"
	ReasonUnauthorized    = "Unauthorized"
	ReasonCacheSyncFailed = "CacheSyncFailed"
)

// Reasons of Permitted.
const (
	ReasonPermitted          = "Permitted"
	ReasonPermissionsMissing = "PermissionsMissing"
)
