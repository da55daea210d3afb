// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// DefaultCinder fills in what a Cinder leaves out and what a reader of it wants to see: how many pods there are, how the
// API server and the logs are set, who the services are. Everything else that is unset is resolved when it is rendered,
// and never written back.
func DefaultCinder(obj *v1alpha1.Cinder) {
	spec := &obj.Spec
	if tls := spec.Database.TLS; tls != nil {
		tls.Mode = tls.EffectiveMode()
	}
	fill(&spec.Cache.Backend, v1alpha1.DefaultCacheBackend)

	if spec.API == nil {
		spec.API = &v1alpha1.APISpec{}
	}
	if spec.Scheduler == nil {
		spec.Scheduler = &v1alpha1.SchedulerSpec{}
	}
	if spec.Volume == nil {
		spec.Volume = &v1alpha1.VolumeSpec{}
	}
	if spec.Backup == nil {
		spec.Backup = &v1alpha1.BackupSpec{}
	}
	defaultReplicas(&spec.API.Deployment, v1alpha1.DefaultAPIReplicas)
	defaultReplicas(&spec.Scheduler.Deployment, v1alpha1.DefaultReplicas)
	for _, d := range []**v1alpha1.DeploymentSpec{&spec.Volume.Deployment, &spec.Backup.Deployment} {
		defaultReplicas(d, v1alpha1.DefaultReplicas)
		if (*d).Strategy == nil {
			(*d).Strategy = &appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		}
	}

	if spec.API.UWSGI == nil {
		spec.API.UWSGI = &v1alpha1.UWSGISpec{}
	}
	uwsgi := spec.EffectiveUWSGI()
	spec.API.UWSGI.Processes = ptr.To(uwsgi.Processes)
	spec.API.UWSGI.Threads = ptr.To(uwsgi.Threads)
	spec.API.UWSGI.HTTPKeepAlive = ptr.To(uwsgi.HTTPKeepAlive)

	if spec.Logging == nil {
		spec.Logging = &v1alpha1.LoggingSpec{}
	}
	logging := spec.EffectiveLogging()
	spec.Logging.Format, spec.Logging.Level, spec.Logging.Debug = logging.Format, logging.Level, ptr.To(logging.Debug)

	spec.ServiceUser = spec.EffectiveServiceUser()
	if spec.SecretStoreRef != nil {
		fill(&spec.SecretStoreRef.Kind, v1alpha1.SecretStoreKindCluster)
	}
}

// DefaultCinderBackend fills in the mount options or the cluster name, for a schema that has not.
func DefaultCinderBackend(obj *v1alpha1.CinderBackend) {
	if nfs := obj.Spec.NFS; nfs != nil {
		nfs.MountOptions = nfs.EffectiveMountOptions()
	}
	if rbd := obj.Spec.RBD; rbd != nil {
		rbd.ClusterName = rbd.EffectiveClusterName()
	}
}

// DefaultCinderBackupBackend fills in the chunk size, the compression, and the mount options or the cluster name, for a
// schema that has not.
func DefaultCinderBackupBackend(obj *v1alpha1.CinderBackupBackend) {
	obj.Spec.FileSize = ptr.To(obj.Spec.EffectiveFileSize())
	obj.Spec.Compression = obj.Spec.EffectiveCompression()
	if nfs := obj.Spec.NFS; nfs != nil {
		nfs.MountOptions = nfs.EffectiveMountOptions()
	}
	if rbd := obj.Spec.RBD; rbd != nil {
		rbd.ClusterName = rbd.EffectiveClusterName()
	}
}

func defaultReplicas(d **v1alpha1.DeploymentSpec, replicas int32) {
	if *d == nil {
		*d = &v1alpha1.DeploymentSpec{}
	}
	if (*d).Replicas == nil {
		(*d).Replicas = ptr.To(replicas)
	}
}

func fill[T ~string](to *T, value T) {
	if *to == "" {
		*to = value
	}
}
