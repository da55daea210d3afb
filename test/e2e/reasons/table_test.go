// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// row is one answer that a resource of a kind can give.
type row struct {
	kind, typ string
	status    metav1.ConditionStatus
	reason    string
}

func (r row) String() string { return fmt.Sprintf("%s %s=%s/%s", r.kind, r.typ, r.status, r.reason) }

const (
	cinder        = "Cinder"
	backend       = "CinderBackend"
	backupBackend = "CinderBackupBackend"
	targetCluster = "TargetCluster"
)

func rows(kind, typ string, status metav1.ConditionStatus, reasons ...string) []row {
	var out []row
	for _, reason := range reasons {
		out = append(out, row{kind, typ, status, reason})
	}
	return out
}

// is, not and open are rows of a Cinder.
func is(typ string, reasons ...string) []row {
	return rows(cinder, typ, metav1.ConditionTrue, reasons...)
}
func not(typ string, reasons ...string) []row {
	return rows(cinder, typ, metav1.ConditionFalse, reasons...)
}
func open(typ string, reasons ...string) []row {
	return rows(cinder, typ, metav1.ConditionUnknown, reasons...)
}

// pending are the conditions of a Cinder whose steps a first pass did not reach.
func pending() []row {
	var out []row
	for _, typ := range v1alpha1.CinderSubConditions() {
		if typ != v1alpha1.ConditionSecretsReady {
			out = append(out, open(typ, v1alpha1.ReasonPending)...)
		}
	}
	return out
}

// inTheWay are the conditions of a Cinder whose step fails because an object of
// somebody else has the name that it needs.
func inTheWay() []row {
	var out []row
	for _, typ := range []string{
		v1alpha1.ConditionSecretsReady, v1alpha1.ConditionDatabaseReady, v1alpha1.ConditionSchedulerReady, v1alpha1.ConditionVolumeServicesReady,
		v1alpha1.ConditionBackupServiceReady, v1alpha1.ConditionDeploymentReady, v1alpha1.ConditionDBPurgeReady,
		v1alpha1.ConditionHTTPRouteReady, v1alpha1.ConditionHPAReady, v1alpha1.ConditionNetworkPolicyReady,
	} {
		out = append(out, open(typ, v1alpha1.ReasonReconcileError)...)
	}
	return out
}

// table is every answer there is.
var table = slices.Concat(
	is(v1alpha1.ConditionReady, v1alpha1.ReasonAllReady),
	not(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady),
	is(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretsAvailable),
	not(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTargetClusterUnavailable, v1alpha1.ReasonSecretStoreNotReady, v1alpha1.ReasonClusterSecretStoreUnsupported,
		v1alpha1.ReasonWaitingForDBCredentials, v1alpha1.ReasonWaitingForServiceUserCredentials, v1alpha1.ReasonWaitingForMessagingCredentials, v1alpha1.ReasonConfigError),
	is(v1alpha1.ConditionBackendsReady, v1alpha1.ReasonAllBackendsProjected, v1alpha1.ReasonNoBackends),
	not(v1alpha1.ConditionBackendsReady, v1alpha1.ReasonWaitingForBackends),
	is(v1alpha1.ConditionBackupBackendReady, v1alpha1.ReasonBackupBackendProjected, v1alpha1.ReasonNoBackupBackend),
	not(v1alpha1.ConditionBackupBackendReady, v1alpha1.ReasonWaitingForBackupBackend, v1alpha1.ReasonMultipleBackupBackends),
	is(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseSynced),
	not(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonClusterNotReady, v1alpha1.ReasonWaitingForDatabase, v1alpha1.ReasonWaitingForConfig, v1alpha1.ReasonImageReleaseMismatch,
		v1alpha1.ReasonDBSyncFailed, v1alpha1.ReasonDBSyncInProgress, v1alpha1.ReasonVersionParseError, v1alpha1.ReasonDowngradeNotSupported, v1alpha1.ReasonUpgradePathInvalid,
		v1alpha1.ReasonUpgradeTargetChanged, v1alpha1.ReasonExpandInProgress, v1alpha1.ReasonMigrateInProgress, v1alpha1.ReasonUpgradeRollingUpdate,
		v1alpha1.ReasonContractInProgress, v1alpha1.ReasonExpandFailed, v1alpha1.ReasonMigrateFailed, v1alpha1.ReasonContractFailed),
	is(v1alpha1.ConditionSchedulerReady, v1alpha1.ReasonSchedulerReady),
	not(v1alpha1.ConditionSchedulerReady, v1alpha1.ReasonWaitingForScheduler),
	is(v1alpha1.ConditionVolumeServicesReady, v1alpha1.ReasonAllVolumeServicesReady),
	not(v1alpha1.ConditionVolumeServicesReady, v1alpha1.ReasonNoBackends, v1alpha1.ReasonWaitingForVolumeServices, v1alpha1.ReasonServiceRemoveJobFailed),
	is(v1alpha1.ConditionBackupServiceReady, v1alpha1.ReasonBackupServiceReady, v1alpha1.ReasonBackupNotConfigured),
	not(v1alpha1.ConditionBackupServiceReady, v1alpha1.ReasonWaitingForBackupService),
	is(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonDeploymentReady),
	not(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonWaitingForDeployment),
	is(v1alpha1.ConditionCinderAPIReady, v1alpha1.ReasonAPIHealthy),
	not(v1alpha1.ConditionCinderAPIReady, v1alpha1.ReasonAPIUnhealthy, v1alpha1.ReasonEndpointNotReady, v1alpha1.ReasonHealthCheckTimeout,
		v1alpha1.ReasonConnectionFailed, v1alpha1.ReasonHealthCheckFailed),
	is(v1alpha1.ConditionHPAReady, v1alpha1.ReasonHPAReady, v1alpha1.ReasonHPANotRequired),
	is(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPAReady, v1alpha1.ReasonVPANotRequired),
	not(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPANotInstalled, v1alpha1.ReasonCapabilityProbeFailed, v1alpha1.ReasonVPAError),
	is(v1alpha1.ConditionNetworkPolicyReady, v1alpha1.ReasonNetworkPolicyReady, v1alpha1.ReasonNetworkPolicyNotRequired),
	is(v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonHTTPRouteAccepted, v1alpha1.ReasonHTTPRouteNotRequired),
	not(v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonHTTPRouteNotAccepted, v1alpha1.ReasonGatewayAPINotInstalled, v1alpha1.ReasonCapabilityProbeFailed),
	is(v1alpha1.ConditionDBPurgeReady, v1alpha1.ReasonDBPurgeScheduled, v1alpha1.ReasonDBPurgeSuspended),
	not(v1alpha1.ConditionDBPurgeReady, v1alpha1.ReasonDBPurgeJobFailed),
	is(v1alpha1.ConditionExtraConfigHealthy, v1alpha1.ReasonNoOwnedKeysOverridden),
	not(v1alpha1.ConditionExtraConfigHealthy, v1alpha1.ReasonOwnedKeysOverridden),
	pending(),
	inTheWay(),

	satellite(backend),
	rows(backend, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDetaching),
	satellite(backupBackend),

	rows(targetCluster, v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted),
	rows(targetCluster, v1alpha1.ConditionAccepted, metav1.ConditionFalse, refusals...),
	rows(targetCluster, v1alpha1.ConditionConnected, metav1.ConditionTrue, v1alpha1.ReasonConnected),
	rows(targetCluster, v1alpha1.ConditionConnected, metav1.ConditionFalse, losses...),
	rows(targetCluster, v1alpha1.ConditionConnected, metav1.ConditionUnknown, v1alpha1.ReasonConnecting, v1alpha1.ReasonPending),
	rows(targetCluster, v1alpha1.ConditionPermitted, metav1.ConditionTrue, v1alpha1.ReasonPermitted),
	rows(targetCluster, v1alpha1.ConditionPermitted, metav1.ConditionFalse, v1alpha1.ReasonPermissionsMissing),
	rows(targetCluster, v1alpha1.ConditionPermitted, metav1.ConditionUnknown, v1alpha1.ReasonPending),
	// Ready says what the worse of the two conditions says that it is made of.
	rows(targetCluster, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady),
	rows(targetCluster, v1alpha1.ConditionReady, metav1.ConditionFalse, slices.Concat(refusals, losses)...),
	rows(targetCluster, v1alpha1.ConditionReady, metav1.ConditionUnknown, v1alpha1.ReasonConnecting),
)

var (
	refusals = []string{
		v1alpha1.ReasonKubeconfigMissing, v1alpha1.ReasonKubeconfigInvalid, v1alpha1.ReasonCredentialPluginRefused, v1alpha1.ReasonFileReferenceRefused,
		v1alpha1.ReasonInsecureKubeconfig, v1alpha1.ReasonLocalAddressRefused, v1alpha1.ReasonNamespacesInvalid,
	}
	losses = []string{v1alpha1.ReasonUnreachable, v1alpha1.ReasonUnauthorized, v1alpha1.ReasonCacheSyncFailed}
)

// satellite are the rows that both kinds of storage share.
func satellite(kind string) []row {
	return slices.Concat(
		rows(kind, v1alpha1.ConditionCredentialsReady, metav1.ConditionTrue, v1alpha1.ReasonCredentialsNotRequired, v1alpha1.ReasonCredentialsAvailable),
		rows(kind, v1alpha1.ConditionCredentialsReady, metav1.ConditionFalse,
			v1alpha1.ReasonWaitingForCredentials, v1alpha1.ReasonWaitingForParent, v1alpha1.ReasonTargetClusterUnavailable),
		rows(kind, v1alpha1.ConditionConfigProjected, metav1.ConditionTrue, v1alpha1.ReasonConfigProjected),
		rows(kind, v1alpha1.ConditionConfigProjected, metav1.ConditionFalse, v1alpha1.ReasonWaitingForProjection),
		rows(kind, v1alpha1.ConditionConfigProjected, metav1.ConditionUnknown, v1alpha1.ReasonPending),
		rows(kind, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady),
		rows(kind, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotAllReady),
	)
}
