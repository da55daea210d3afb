// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CinderSpec is what a Cinder should be.
//
// +kubebuilder:validation:XValidation:rule="has(self.targetClusterRef) == has(oldSelf.targetClusterRef) && (!has(self.targetClusterRef) || self.targetClusterRef.name == oldSelf.targetClusterRef.name)",message="targetClusterRef is immutable",fieldPath=".targetClusterRef"
// +kubebuilder:validation:XValidation:rule="has(self.keystoneEndpoint) == has(self.serviceUser)",message="keystoneEndpoint and serviceUser must be set together",fieldPath=".keystoneEndpoint"
// +kubebuilder:validation:XValidation:rule="!has(self.keyManager) || has(self.keystoneEndpoint)",message="keyManager requires keystoneEndpoint (castellan authenticates against Keystone)",fieldPath=".keyManager"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || has(self.keystoneEndpoint)",message="gateway requires keystoneEndpoint: without it the API runs with auth_strategy = noauth and would be published without authentication",fieldPath=".gateway"
// +kubebuilder:validation:XValidation:rule="!(has(self.autoscaling) && has(self.api) && has(self.api.deployment) && has(self.api.deployment.verticalAutoscaling))",message="spec.api.deployment.verticalAutoscaling cannot be set while spec.autoscaling scales the same Deployment",fieldPath=".api.deployment.verticalAutoscaling"
type CinderSpec struct {
	// openStackRelease is the OpenStack release that runs, such as 2026.1. Raising
	// it to the next release, in lockstep with the image, starts an upgrade. It
	// stands apart from the image so that an image pinned by digest still names
	// its schema.
	// +required
	// +kubebuilder:validation:Pattern=`^\d{4}\.[12]$`
	OpenStackRelease string `json:"openStackRelease"`

	// image is the image of every Cinder process and Job.
	// +required
	Image ImageSpec `json:"image"`

	// database says where the SQL database is.
	// +required
	Database DatabaseSpec `json:"database"`

	// cache says where memcached is.
	// +required
	Cache CacheSpec `json:"cache"`

	// messaging says where the message bus is.
	// +required
	Messaging MessagingSpec `json:"messaging"`

	// api shapes the API service, the only one that scales out.
	// +optional
	API *APISpec `json:"api,omitempty"`

	// scheduler shapes the scheduler.
	// +optional
	Scheduler *SchedulerSpec `json:"scheduler,omitempty"`

	// volume shapes the volume services, of which there is one for each backend.
	// +optional
	Volume *VolumeSpec `json:"volume,omitempty"`

	// backup shapes the backup service, which exists while a CinderBackupBackend
	// is attached.
	// +optional
	Backup *BackupSpec `json:"backup,omitempty"`

	// jobs shapes the migration, purge and service-remove Jobs.
	// +optional
	Jobs *JobSpec `json:"jobs,omitempty"`

	// keystoneEndpoint is the URL of Keystone that the services use. Without it
	// the API runs without authentication (auth_strategy = noauth).
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://`
	KeystoneEndpoint string `json:"keystoneEndpoint,omitempty"`

	// keystonePublicEndpoint is the URL of Keystone that clients are referred to
	// (www_authenticate_uri). Unset stands for keystoneEndpoint.
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://`
	KeystonePublicEndpoint string `json:"keystonePublicEndpoint,omitempty"`

	// serviceUser is the identity of the services in Keystone. It goes together
	// with keystoneEndpoint.
	// +optional
	ServiceUser *ServiceUserSpec `json:"serviceUser,omitempty"`

	// region is the region name of the services in Keystone's catalog.
	// +optional
	Region string `json:"region,omitempty"`

	// glanceEndpoint is the URL of Glance. Unset lets the services look it up in
	// the catalog.
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://`
	GlanceEndpoint string `json:"glanceEndpoint,omitempty"`

	// keyManager says where the keys of encrypted volumes are kept. It needs
	// keystoneEndpoint.
	// +optional
	KeyManager *KeyManagerSpec `json:"keyManager,omitempty"`

	// internalTenant is the project that owns the image cache's volumes.
	// +optional
	InternalTenant *InternalTenantSpec `json:"internalTenant,omitempty"`

	// dbPurge shapes the recurring removal of rows that were deleted long ago. It
	// runs daily even when this is unset.
	// +optional
	DBPurge *DBPurgeSpec `json:"dbPurge,omitempty"`

	// gateway publishes the API through a Gateway. It needs keystoneEndpoint: an
	// API without authentication is not published.
	// +optional
	Gateway *GatewaySpec `json:"gateway,omitempty"`

	// networkPolicy limits who reaches the pods and what they reach. Unset limits
	// nothing.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// autoscaling lets a HorizontalPodAutoscaler choose the number of API pods.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`

	// logging shapes the logs.
	// +optional
	Logging *LoggingSpec `json:"logging,omitempty"`

	// policyOverrides overrides Cinder's policy.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.rules) && size(self.rules) > 0) || has(self.configMapRef)",message="at least one of rules or configMapRef must be set"
	PolicyOverrides *PolicySpec `json:"policyOverrides,omitempty"`

	// secretStoreRef names the secret store that has to be ready before
	// credentials are read. Unset stands for the ClusterSecretStore
	// openbao-cluster-store, and for no store where the External Secrets API is
	// not served.
	// +optional
	SecretStoreRef *SecretStoreRefSpec `json:"secretStoreRef,omitempty"`

	// extraConfig are options of cinder.conf by section and name, in the syntax of
	// oslo.config. They win over what the operator renders; overriding an option
	// that the operator owns is reported by the condition ExtraConfigHealthy.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ExtraConfig map[string]map[string]string `json:"extraConfig,omitempty"`

	// targetClusterRef names the registered cluster that everything this Cinder
	// consists of is created on, also what the spec refers to by name. Unset
	// stands for the cluster this resource lives on. It can be neither added nor
	// removed nor changed.
	// +optional
	TargetClusterRef *TargetClusterRefSpec `json:"targetClusterRef,omitempty"`
}

// CinderStatus is what a Cinder is.
type CinderStatus struct {
	// conditions say how far each part is. Ready is True exactly when every other
	// one but ExtraConfigHealthy is.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status tells of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// endpoint is the URL of the API.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// installedRelease is the OpenStack release that the database schema and the
	// services are at.
	// +optional
	InstalledRelease string `json:"installedRelease,omitempty"`

	// targetRelease is the release that a running upgrade leads to.
	// +optional
	TargetRelease string `json:"targetRelease,omitempty"`

	// upgradePhase is the phase of a running upgrade: Expanding, Migrating,
	// RollingUpdate or Contracting.
	// +optional
	UpgradePhase UpgradePhase `json:"upgradePhase,omitempty"`

	// volumeServices are the volume services, sorted by backend.
	// +optional
	// +listType=map
	// +listMapKey=backend
	VolumeServices []VolumeServiceStatus `json:"volumeServices,omitempty"`

	// targetCluster is the cluster that the children were created on. It tells a
	// cluster that was registered again from another one that took its name. It is
	// written when the first child is.
	// +optional
	TargetCluster *TargetClusterStatusRef `json:"targetCluster,omitempty"`
}

// UpgradePhase is a phase of a release upgrade.
type UpgradePhase string

// The phases of a release upgrade, in their order.
const (
	UpgradePhaseExpanding     UpgradePhase = "Expanding"
	UpgradePhaseMigrating     UpgradePhase = "Migrating"
	UpgradePhaseRollingUpdate UpgradePhase = "RollingUpdate"
	UpgradePhaseContracting   UpgradePhase = "Contracting"
)

// VolumeServiceStatus is one volume service.
type VolumeServiceStatus struct {
	// backend is the name of the CinderBackend.
	// +required
	Backend string `json:"backend"`

	// host is the service's name in Cinder's service registry, as
	// <host>@<backend>.
	// +required
	Host string `json:"host"`
}

// TargetClusterStatusRef identifies a cluster.
type TargetClusterStatusRef struct {
	// name is the name the cluster is registered under. It is empty for the
	// cluster this resource lives on.
	// +optional
	Name string `json:"name,omitempty"`

	// uid is the UID of the cluster's kube-system namespace.
	// +optional
	UID string `json:"uid,omitempty"`
}

// Cinder is an OpenStack Block Storage service: API, scheduler, volume and
// backup services, their database schema, configuration and network rules. It
// lives on the hub; what it consists of lives on the cluster that
// spec.targetClusterRef names.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cinders,singular=cinder,scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.installedRelease`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetClusterRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Phase",type=string,priority=1,JSONPath=`.status.upgradePhase`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].message`
type Cinder struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata. The name is at most 43 characters
	// long and a DNS label that starts with a letter: it names a Service.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the Cinder should be.
	// +required
	Spec CinderSpec `json:"spec"`

	// status is what the Cinder is.
	// +optional
	Status CinderStatus `json:"status,omitempty"`
}

// CinderList is a list of Cinders.
//
// +kubebuilder:object:root=true
type CinderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the Cinders.
	Items []Cinder `json:"items"`
}
