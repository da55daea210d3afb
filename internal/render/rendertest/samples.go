// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package rendertest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// Namespace is where every sample lives.
const Namespace = "openstack"

// Cinder is a Cinder without Keystone that leaves out whatever it can.
func Cinder() *v1alpha1.Cinder {
	return &v1alpha1.Cinder{
		ObjectMeta: metav1.ObjectMeta{Name: "cinder", Namespace: Namespace},
		Spec: v1alpha1.CinderSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.org/openstack/cinder", Tag: "2026.1"},
			Database: v1alpha1.DatabaseSpec{
				Host: "db.example.org", Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: "cinder-db"},
			},
			Cache:     v1alpha1.CacheSpec{ClusterRef: &v1alpha1.ClusterRefSpec{Name: "memcached"}},
			Messaging: v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "cinder-bus"}},
		},
	}
}

// KeystoneCinder is the plain Cinder behind Keystone.
func KeystoneCinder() *v1alpha1.Cinder {
	c := Cinder()
	c.Spec.KeystoneEndpoint = "http://keystone.openstack.svc:5000/v3"
	c.Spec.KeystonePublicEndpoint = "https://keystone.example.org/v3"
	c.Spec.Region = "RegionOne"
	c.Spec.ServiceUser = &v1alpha1.ServiceUserSpec{SecretRef: v1alpha1.SecretRefSpec{Name: "cinder-service"}}
	return c
}

// FullCinder sets every field that a configuration file shows.
func FullCinder() *v1alpha1.Cinder {
	c := KeystoneCinder()
	c.Spec.Cache = v1alpha1.CacheSpec{Servers: []string{"mc-0.example.org:11211", "mc-1.example.org:11212"}}
	c.Spec.GlanceEndpoint = "http://glance.openstack.svc:9292"
	c.Spec.InternalTenant = &v1alpha1.InternalTenantSpec{ProjectID: "p-1", UserID: "u-1"}
	c.Spec.KeyManager = &v1alpha1.KeyManagerSpec{
		Type:     v1alpha1.KeyManagerBarbican,
		Barbican: &v1alpha1.BarbicanSpec{Endpoint: "http://barbican.openstack.svc:9311"},
	}
	c.Spec.Logging = &v1alpha1.LoggingSpec{
		Format:          v1alpha1.LogFormatJSON,
		Level:           v1alpha1.LogLevelWarning,
		PerLoggerLevels: map[string]v1alpha1.LogLevel{"cinder.volume": v1alpha1.LogLevelDebug, "sqlalchemy": v1alpha1.LogLevelError},
	}
	c.Spec.PolicyOverrides = &v1alpha1.PolicySpec{
		Rules: map[string]v1alpha1.PolicyRule{"volume:create": "role:member", "volume:delete": "role:admin or \"x\":%(y)s"},
	}
	c.Spec.Messaging.TLS = &v1alpha1.MessagingTLSSpec{CABundleSecretRef: v1alpha1.SecretRefSpec{Name: "bus-ca"}}
	c.Spec.Database.TLS = &v1alpha1.DatabaseTLSSpec{
		Mode:                v1alpha1.DatabaseTLSVerifyFull,
		CABundleSecretRef:   &v1alpha1.SecretRefSpec{Name: "db-ca", Key: "bundle.pem"},
		ClientCertSecretRef: &v1alpha1.SecretRefSpec{Name: "db-client"},
	}
	c.Spec.ExtraConfig = map[string]map[string]string{
		"DEFAULT":            {"debug": "true", "my_ip": "$host", "transport_url": "rabbit://dropped"},
		"Keystone_Authtoken": {"region_name": "Other", "password": "dropped"},
		"backend_defaults":   {"volume_clear": "none"},
	}
	return c
}

// NFSBackend is an NFS backend of the samples' Cinder.
func NFSBackend(name string) *v1alpha1.CinderBackend {
	return &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace, UID: "5d8c9e6e-0000-4000-8000-000000000001"},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
			Type:      v1alpha1.CinderBackendTypeNFS,
			NFS: &v1alpha1.NFSBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{
				Server: "nfs-server.openstack.svc.cluster.local", Path: "/volumes",
			}},
		},
	}
}

// RBDBackend is an RBD backend of the samples' Cinder.
func RBDBackend(name string) *v1alpha1.CinderBackend {
	return &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
			Type:      v1alpha1.CinderBackendTypeRBD,
			RBD: &v1alpha1.RBDBackendSpec{
				RBDPoolSpec: Pool("volumes", "cinder", "10.244.0.0/16"),
				SecretUUID:  "457eb676-33da-42ec-9a8c-9293d545c337",
			},
		},
	}
}

// NFSBackup is an NFS backup target of the samples' Cinder.
func NFSBackup(name string) *v1alpha1.CinderBackupBackend {
	return &v1alpha1.CinderBackupBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Spec: v1alpha1.CinderBackupBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
			Type:      v1alpha1.CinderBackupBackendTypeNFS,
			NFS: &v1alpha1.NFSBackupBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{
				Server: "nfs-server.openstack.svc.cluster.local", Path: "/backups",
			}},
			FileSize: ptr.To[int64](52428800),
		},
	}
}

// RBDBackup is an RBD backup target of the samples' Cinder.
func RBDBackup(name string) *v1alpha1.CinderBackupBackend {
	return &v1alpha1.CinderBackupBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Spec: v1alpha1.CinderBackupBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
			Type:      v1alpha1.CinderBackupBackendTypeRBD,
			RBD: &v1alpha1.RBDBackupBackendSpec{
				RBDPoolSpec: Pool("backups", "cinder-backup", "10.244.0.0/16", "10.96.0.0/12"),
			},
		},
	}
}

// Pool is a Ceph pool of the samples.
func Pool(pool, user string, networks ...v1alpha1.IPv4CIDR) v1alpha1.RBDPoolSpec {
	return v1alpha1.RBDPoolSpec{
		Pool: pool, User: user, Networks: networks,
		Monitors:     []v1alpha1.CephHost{"rook-ceph-mon-a.rook-ceph.svc.cluster.local"},
		KeySecretRef: v1alpha1.SecretNameRefSpec{Name: "ceph-client-" + user},
	}
}

// Facts are the facts of the samples' Cinder without backends.
func Facts() render.Facts {
	return render.Facts{
		ConfigMapName:    "cinder-config-0123456789",
		ConfigKeys:       []string{render.KeySchedulerConf, render.KeyCinderConf},
		DBConnectionHash: "aaaa",
		TransportURLHash: "bbbb",
		BrokerPort:       5672,
		InstalledRelease: "2026.1",
	}
}
