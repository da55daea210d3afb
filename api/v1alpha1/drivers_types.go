// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// NFSExportSpec names an NFS export and how it is mounted.
type NFSExportSpec struct {
	// server is the NFS server's name or IPv4 address.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.-]+$`
	Server string `json:"server"`

	// path is the exported path: absolute, in printable ASCII without spaces.
	// Repointing it at another export strands what was already written.
	// +required
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path"`

	// mountOptions are the options the export is mounted with.
	// +optional
	// +kubebuilder:default="nfsvers=4.1,soft,timeo=30,retrans=2"
	// +kubebuilder:validation:Pattern=`^[^\n\r]*$`
	MountOptions string `json:"mountOptions,omitempty"`
}

// CephHost is a monitor's address: a host name or an IPv4 address with an
// optional :port.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`
type CephHost string

// IPv4CIDR is a network in its canonical form, such as 10.244.0.0/16.
//
// +kubebuilder:validation:Pattern=`^([0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]{1,2}$`
type IPv4CIDR string

// RBDPoolSpec names a Ceph pool, the user that reads and writes it, and where
// the cluster is. The operator creates neither the pool nor the user.
type RBDPoolSpec struct {
	// pool is the pool the images are in.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	Pool string `json:"pool"`

	// user is the cephx user without its "client." prefix, such as cinder.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('client.')",message="user must not carry the client. prefix"
	User string `json:"user"`

	// monitors are the addresses of the cluster's monitors, each a host name or an
	// IPv4 address with an optional :port. A bare address is tried on port 3300
	// and then on port 6789.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Monitors []CephHost `json:"monitors"`

	// networks are the IPv4 CIDRs that the monitors and the OSDs answer on, host
	// bits zero. The NetworkPolicy lets the pods reach them. They are needed even
	// while there is no NetworkPolicy, so that one can be added later.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Networks []IPv4CIDR `json:"networks"`

	// clusterName is the Ceph cluster's name. It decides the names of the files
	// under /etc/ceph.
	// +optional
	// +kubebuilder:default=ceph
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+$`
	ClusterName string `json:"clusterName,omitempty"`

	// keySecretRef names the Secret that holds the user's key under userKey, as
	// "ceph auth get-key" prints it. It lives in this namespace, on the cluster
	// the pods run on.
	// +required
	KeySecretRef SecretNameRefSpec `json:"keySecretRef"`
}
