// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/md5"
	"encoding/hex"
)

// Directories and files inside the pods.
const (
	ConfigDir    = "/etc/cinder/cinder.conf.d"
	SchedulerDir = "/etc/cinder/scheduler.conf.d"
	BackendsDir  = "/etc/cinder/backends.conf.d"
	VolumeDir    = "/etc/cinder/volume.conf.d"
	BackupDir    = "/etc/cinder/backup.conf.d"
	CephDir      = "/etc/ceph"
	StateDir     = "/var/lib/cinder"
	MountDir     = StateDir + "/mnt"
	BackupMounts = StateDir + "/backup_mount"
	TempDir      = "/tmp"
	// ImageDir is where the image keeps the OpenStack code and its data files.
	ImageDir = "/var/lib/openstack"

	DatabaseTLSDir  = "/etc/cinder-db-tls"
	DatabaseCAFile  = DatabaseTLSDir + "/ca.crt"
	DatabaseCert    = DatabaseTLSDir + "/tls.crt"
	DatabaseKeyFile = DatabaseTLSDir + "/tls.key"

	BrokerCADir  = "/etc/rabbitmq-ca"
	BrokerCAFile = BrokerCADir + "/ca.crt"
)

// Keys of the ConfigMap with the shared configuration.
const (
	KeyCinderConf    = "cinder.conf"
	KeySchedulerConf = "scheduler.conf"
	KeyLogging       = "logging.ini"
	KeyPolicy        = "policy.yaml"
)

// Keys of the Secrets that a backend or a backup target is rendered into.
const (
	KeyBackendConf = "backend.conf"
	KeyShares      = "shares"
	KeyVolumeConf  = "volume.conf"
	KeyBackupConf  = "backup.conf"
	KeyCephConf    = "ceph.conf"
	KeyKeyring     = "keyring"
)

// Keys of the derived Secrets.
const (
	KeyConnection   = "connection"
	KeyTransportURL = "transport_url"
	KeyPassword     = "password"
)

// Export names an NFS export as Cinder's shares file does: `server:path`.
func Export(server, path string) string { return server + ":" + path }

// ExportHash is the name of the folder at which Cinder looks for a mounted
// export: the hex MD5 of `server:path`. Cinder chose the digest; nothing is
// protected by it.
func ExportHash(export string) string {
	sum := md5.Sum([]byte(export))
	return hex.EncodeToString(sum[:])
}

// SharesFile is the path of a backend's shares file.
func SharesFile(backend string) string { return BackendsDir + "/" + backend + ".shares" }

// CephConfName is the name of a Ceph cluster's configuration file in CephDir.
func CephConfName(cluster string) string { return cluster + ".conf" }

// KeyringName is the name of a Ceph user's keyring in CephDir. os-brick opens
// exactly this file, whatever the backend's own configuration says.
func KeyringName(cluster, user string) string { return cluster + ".client." + user + ".keyring" }

// APIPort is the port of the API, in the pods and on the Service.
const APIPort int32 = 8776

// HealthPath is the API's own health check. It needs no authentication.
const HealthPath = "/healthcheck"
