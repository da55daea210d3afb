// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// APISpec shapes the API service.
type APISpec struct {
	// deployment shapes the Deployment.
	// +optional
	Deployment *DeploymentSpec `json:"deployment,omitempty"`

	// uwsgi shapes the uWSGI server.
	// +optional
	UWSGI *UWSGISpec `json:"uwsgi,omitempty"`
}

// SchedulerSpec shapes the scheduler.
type SchedulerSpec struct {
	// deployment shapes the Deployment.
	// +optional
	Deployment *DeploymentSpec `json:"deployment,omitempty"`
}

// VolumeSpec shapes the volume services. A volume service owns its backend
// through a host identity, so each runs as exactly one pod that is gone before
// its successor starts.
//
// +kubebuilder:validation:XValidation:rule="!has(self.deployment) || !has(self.deployment.replicas) || self.deployment.replicas == 1",message="volume/backup deployments run exactly one replica (the NFS drivers refuse active/active)",fieldPath=".deployment.replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.deployment) || !has(self.deployment.strategy) || (has(self.deployment.strategy.type) ? self.deployment.strategy.type == 'Recreate' : !has(self.deployment.strategy.rollingUpdate))",message="volume/backup deployments must use the Recreate strategy",fieldPath=".deployment.strategy"
type VolumeSpec struct {
	// deployment shapes the Deployment of every backend.
	// +optional
	Deployment *DeploymentSpec `json:"deployment,omitempty"`
}

// BackupSpec shapes the backup service. It owns its target through a host
// identity, so it runs as exactly one pod that is gone before its successor
// starts.
//
// +kubebuilder:validation:XValidation:rule="!has(self.deployment) || !has(self.deployment.replicas) || self.deployment.replicas == 1",message="volume/backup deployments run exactly one replica (the NFS drivers refuse active/active)",fieldPath=".deployment.replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.deployment) || !has(self.deployment.strategy) || (has(self.deployment.strategy.type) ? self.deployment.strategy.type == 'Recreate' : !has(self.deployment.strategy.rollingUpdate))",message="volume/backup deployments must use the Recreate strategy",fieldPath=".deployment.strategy"
type BackupSpec struct {
	// deployment shapes the Deployment.
	// +optional
	Deployment *DeploymentSpec `json:"deployment,omitempty"`
}

// ServiceUserSpec is the identity of the services in Keystone.
type ServiceUserSpec struct {
	// username is the user's name. Unset stands for cinder.
	// +optional
	Username string `json:"username,omitempty"`

	// projectName is the name of the project the user acts in. Unset stands for
	// service.
	// +optional
	ProjectName string `json:"projectName,omitempty"`

	// userDomainName is the name of the user's domain. Unset stands for Default.
	// +optional
	UserDomainName string `json:"userDomainName,omitempty"`

	// projectDomainName is the name of the project's domain. Unset stands for
	// Default.
	// +optional
	ProjectDomainName string `json:"projectDomainName,omitempty"`

	// secretRef names the Secret with the password. The key defaults to password.
	// +required
	SecretRef SecretRefSpec `json:"secretRef"`
}

// KeyManagerType is the kind of service that keeps the keys of encrypted
// volumes.
//
// +kubebuilder:validation:Enum=Barbican
type KeyManagerType string

// KeyManagerBarbican keeps the keys in Barbican.
const KeyManagerBarbican KeyManagerType = "Barbican"

// KeyManagerSpec says where the keys of encrypted volumes are kept.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Barbican') == has(self.barbican)",message="barbican must be set exactly when type is Barbican"
type KeyManagerSpec struct {
	// type is the kind of service.
	// +required
	Type KeyManagerType `json:"type"`

	// barbican says where Barbican is. It is needed with type Barbican.
	// +optional
	Barbican *BarbicanSpec `json:"barbican,omitempty"`
}

// BarbicanSpec says where Barbican is.
type BarbicanSpec struct {
	// endpoint is Barbican's URL.
	// +required
	// +kubebuilder:validation:Pattern=`^https?://`
	Endpoint string `json:"endpoint"`
}

// InternalTenantSpec is the project and user that own volumes which Cinder
// makes for itself, such as the image cache's.
type InternalTenantSpec struct {
	// projectID is the project's ID (not its name).
	// +required
	// +kubebuilder:validation:MinLength=1
	ProjectID string `json:"projectID"`

	// userID is the user's ID (not its name).
	// +required
	// +kubebuilder:validation:MinLength=1
	UserID string `json:"userID"`
}

// DBPurgeSpec shapes the recurring removal of rows that were soft-deleted long
// ago.
type DBPurgeSpec struct {
	// retentionDays is how many days ago a row must have been deleted to be
	// removed. It is the only bound on how much a run removes; lower it step by
	// step over an old backlog. Unset stands for 30.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RetentionDays *int32 `json:"retentionDays,omitempty"`

	// schedule is when a run starts, in cron's grammar. Unset stands for "1 0 * *
	// *".
	// +optional
	Schedule string `json:"schedule,omitempty"`

	// suspend keeps further runs from starting. Unset stands for false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
}
