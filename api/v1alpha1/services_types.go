// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// CredentialsMode says who makes the database credentials.
//
// +kubebuilder:validation:Enum=Static;Dynamic
type CredentialsMode string

// The credential modes.
const (
	CredentialsModeStatic  CredentialsMode = "Static"
	CredentialsModeDynamic CredentialsMode = "Dynamic"
)

// DatabaseTLSMode says how a connection to the database is encrypted and
// verified.
//
// +kubebuilder:validation:Enum=disabled;prefer;require;verify-ca;verify-full
type DatabaseTLSMode string

// The TLS modes of a database connection.
const (
	DatabaseTLSDisabled   DatabaseTLSMode = "disabled"
	DatabaseTLSPrefer     DatabaseTLSMode = "prefer"
	DatabaseTLSRequire    DatabaseTLSMode = "require"
	DatabaseTLSVerifyCA   DatabaseTLSMode = "verify-ca"
	DatabaseTLSVerifyFull DatabaseTLSMode = "verify-full"
)

// DatabaseSpec says where the SQL database is: a MariaDB that a
// mariadb-operator runs beside the pods (managed), or any server reachable by
// host and port (brownfield).
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != has(self.host)",message="exactly one of clusterRef or host must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.credentialsMode) || self.credentialsMode != 'Dynamic' || has(self.clusterRef)",message="credentialsMode Dynamic requires clusterRef (managed mode)"
type DatabaseSpec struct {
	// clusterRef names a MariaDB resource. The operator waits until it is ready,
	// and makes the database, its user and its grants there.
	// +optional
	ClusterRef *ClusterRefSpec `json:"clusterRef,omitempty"`

	// host is the name or address of a database server that this operator does not
	// manage.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._:-]+$`
	Host string `json:"host,omitempty"`

	// port is the TCP port on host. Unset stands for 3306.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// database is the name of the schema.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]+$`
	Database string `json:"database"`

	// secretRef names the Secret with the credentials: username and password with
	// host or with Dynamic credentials, password alone with clusterRef and Static
	// credentials (the user is then named after the Cinder).
	// +required
	SecretRef SecretRefSpec `json:"secretRef"`

	// credentialsMode is Static when the operator makes the database user, and
	// Dynamic when something else does and keeps the Secret up to date. Dynamic
	// needs clusterRef. Unset stands for Static.
	// +optional
	CredentialsMode CredentialsMode `json:"credentialsMode,omitempty"`

	// tls says how the connection is encrypted. Unset leaves it in plain text.
	// +optional
	TLS *DatabaseTLSSpec `json:"tls,omitempty"`

	// replicas is accepted for compatibility and ignored: this operator creates no
	// database server.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	Replicas *int32 `json:"replicas,omitempty"`

	// storageSize is accepted for compatibility and ignored: this operator creates
	// no database server.
	// +optional
	// +kubebuilder:default="100Gi"
	// +kubebuilder:validation:Pattern=`^[0-9]+(Mi|Gi|Ti)$`
	StorageSize string `json:"storageSize,omitempty"`
}

// DatabaseTLSSpec says how a connection to the database is encrypted and
// verified.
type DatabaseTLSSpec struct {
	// mode is disabled, prefer, require, verify-ca (the server's certificate must
	// be signed by the given authority) or verify-full (it must also name the
	// host). The webhook fills in require, and a mode that is unset all the same
	// stands for it.
	// +optional
	Mode DatabaseTLSMode `json:"mode,omitempty"`

	// caBundleSecretRef names the Secret with the certificate authority. The key
	// defaults to ca.crt.
	// +optional
	CABundleSecretRef *SecretRefSpec `json:"caBundleSecretRef,omitempty"`

	// clientCertSecretRef names the Secret with the client's certificate and key,
	// under tls.crt and tls.key.
	// +optional
	ClientCertSecretRef *SecretRefSpec `json:"clientCertSecretRef,omitempty"`
}

// CacheSpec says where memcached is: a managed Memcached, or a list of
// servers.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != (has(self.servers) && size(self.servers) > 0)",message="exactly one of clusterRef or servers must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterRef) || !self.clusterRef.name.matches('[\\\\n\\\\r]')",message="clusterRef.name must not contain a newline"
type CacheSpec struct {
	// clusterRef names a Memcached resource; it resolves to <name>:11211.
	// +optional
	ClusterRef *ClusterRefSpec `json:"clusterRef,omitempty"`

	// servers are memcached servers as host:port.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[^\n\r]+$`
	Servers []string `json:"servers,omitempty"`

	// backend is the dogpile.cache backend.
	// +optional
	// +kubebuilder:default="dogpile.cache.pymemcache"
	Backend string `json:"backend,omitempty"`

	// replicas is accepted for compatibility and ignored: this operator creates no
	// memcached.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	Replicas *int32 `json:"replicas,omitempty"`
}

// MessagingSpec says where the message bus is: a managed RabbitmqCluster, or a
// Secret with a transport URL. Every Cinder needs a virtual host of its own:
// two of them on one answer each other's requests.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != has(self.secretRef)",message="exactly one of clusterRef or secretRef must be set"
type MessagingSpec struct {
	// clusterRef names a RabbitmqCluster. The transport URL is made from the
	// Secret of its default user.
	// +optional
	ClusterRef *ClusterRefSpec `json:"clusterRef,omitempty"`

	// secretRef names the Secret with the whole transport URL, such as
	// rabbit://user:password@host:5672/cinder. The key defaults to transport_url.
	// +optional
	SecretRef *SecretRefSpec `json:"secretRef,omitempty"`

	// tls turns on TLS towards the broker. Unset leaves the connection in plain
	// text.
	// +optional
	TLS *MessagingTLSSpec `json:"tls,omitempty"`
}

// MessagingTLSSpec says how the broker's certificate is verified.
type MessagingTLSSpec struct {
	// caBundleSecretRef names the Secret with the certificate authority. The key
	// defaults to ca.crt.
	// +required
	CABundleSecretRef SecretRefSpec `json:"caBundleSecretRef"`
}
