// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// What unset fields of the API server, the logs, the purge and the storage stand for.
const (
	DefaultUWSGIProcesses    int32 = 2
	DefaultUWSGIThreads      int32 = 1
	DefaultPurgeRetention    int32 = 30
	DefaultPurgeSchedule           = "1 0 * * *"
	DefaultNFSMountOptions         = "nfsvers=4.1,soft,timeo=30,retrans=2"
	DefaultCephClusterName         = "ceph"
	DefaultBackupFileSize    int64 = 52428800
	DefaultBackupCompression       = BackupCompressionZlib
)

// UWSGISettings is a UWSGISpec with its defaults resolved. Nil durations, in seconds, leave the option out.
//
// +kubebuilder:object:generate=false
type UWSGISettings struct {
	Processes            int32
	Threads              int32
	HTTPKeepAlive        bool
	Harakiri             *int32
	HTTPKeepAliveTimeout *int32
}

// EffectiveUWSGI returns how the API server runs: 2 processes of 1 thread, with keep-alive, unless the spec says
// otherwise.
func (s *CinderSpec) EffectiveUWSGI() UWSGISettings {
	var u UWSGISpec
	if s.API != nil && s.API.UWSGI != nil {
		u = *s.API.UWSGI.DeepCopy()
	}
	return UWSGISettings{
		Processes:            ptr.Deref(u.Processes, DefaultUWSGIProcesses),
		Threads:              ptr.Deref(u.Threads, DefaultUWSGIThreads),
		HTTPKeepAlive:        ptr.Deref(u.HTTPKeepAlive, true),
		Harakiri:             u.Harakiri,
		HTTPKeepAliveTimeout: u.HTTPKeepAliveTimeout,
	}
}

// LoggingSettings is a LoggingSpec with its defaults resolved.
//
// +kubebuilder:object:generate=false
type LoggingSettings struct {
	Format          LogFormat
	Level           LogLevel
	Debug           bool
	PerLoggerLevels map[string]LogLevel
}

// EffectiveLogging returns how processes log: text at INFO, without Cinder's debug option, unless the spec says
// otherwise.
func (s *CinderSpec) EffectiveLogging() LoggingSettings {
	var l LoggingSpec
	if s.Logging != nil {
		l = *s.Logging.DeepCopy()
	}
	return LoggingSettings{
		Format:          or(l.Format, LogFormatText),
		Level:           or(l.Level, LogLevelInfo),
		Debug:           ptr.Deref(l.Debug, false),
		PerLoggerLevels: l.PerLoggerLevels,
	}
}

// DBPurgeSettings is a DBPurgeSpec with its defaults resolved.
//
// +kubebuilder:object:generate=false
type DBPurgeSettings struct {
	RetentionDays int32
	Schedule      string
	Suspend       bool
}

// EffectiveDBPurge returns how the database is purged: rows deleted 30 days ago, daily at 00:01, not suspended, unless the
// spec says otherwise.
func (s *CinderSpec) EffectiveDBPurge() DBPurgeSettings {
	var p DBPurgeSpec
	if s.DBPurge != nil {
		p = *s.DBPurge
	}
	return DBPurgeSettings{
		RetentionDays: ptr.Deref(p.RetentionDays, DefaultPurgeRetention),
		Schedule:      or(p.Schedule, DefaultPurgeSchedule),
		Suspend:       ptr.Deref(p.Suspend, false),
	}
}

// JobSettings is how the pods of Jobs are shaped, with every fallback resolved.
//
// +kubebuilder:object:generate=false
type JobSettings struct {
	Resources         corev1.ResourceRequirements
	PriorityClassName string
	NodeSelector      map[string]string
	Tolerations       []corev1.Toleration
	Affinity          *corev1.Affinity
}

// EffectiveJob returns how the pods of Jobs are shaped. A scheduling field that spec.jobs leaves out follows
// spec.api.deployment, of whose affinity only the part on nodes: its pod affinities speak of the API's own pods. A field
// written with an empty value stays empty. Resources do not follow the API.
func (s *CinderSpec) EffectiveJob() JobSettings {
	var jobs JobSpec
	if s.Jobs != nil {
		jobs = *s.Jobs.DeepCopy()
	}
	var api DeploymentSpec
	if d := s.DeploymentSpecOf(ComponentAPI); d != nil {
		api = *d.DeepCopy()
	}

	out := JobSettings{
		Resources:         s.EffectiveResources(ComponentJob),
		PriorityClassName: ptr.Deref(jobs.PriorityClassName, api.PriorityClassName),
		NodeSelector:      jobs.NodeSelector,
		Tolerations:       jobs.Tolerations,
		Affinity:          jobs.Affinity,
	}
	if jobs.NodeSelector == nil {
		out.NodeSelector = api.NodeSelector
	}
	if jobs.Tolerations == nil {
		out.Tolerations = api.Tolerations
	}
	if jobs.Affinity == nil && api.Affinity != nil && api.Affinity.NodeAffinity != nil {
		out.Affinity = &corev1.Affinity{NodeAffinity: api.Affinity.NodeAffinity}
	}
	return out
}

// EffectiveMountOptions returns the options the export is mounted with: nfsvers=4.1,soft,timeo=30,retrans=2 when unset.
func (n NFSExportSpec) EffectiveMountOptions() string {
	return or(n.MountOptions, DefaultNFSMountOptions)
}

// Export returns the export as server:path, which names it towards Cinder and decides its mount point.
func (n NFSExportSpec) Export() string {
	return n.Server + ":" + n.Path
}

// EffectiveClusterName returns the Ceph cluster's name: ceph when unset.
func (r RBDPoolSpec) EffectiveClusterName() string {
	return or(r.ClusterName, DefaultCephClusterName)
}

// EffectiveFileSize returns the size of a backup chunk in bytes: 52428800 when unset.
func (s *CinderBackupBackendSpec) EffectiveFileSize() int64 {
	return ptr.Deref(s.FileSize, DefaultBackupFileSize)
}

// EffectiveCompression returns the algorithm chunks are compressed with: zlib when unset.
func (s *CinderBackupBackendSpec) EffectiveCompression() BackupCompression {
	return or(s.Compression, DefaultBackupCompression)
}
