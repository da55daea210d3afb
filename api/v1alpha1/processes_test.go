// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
)

func TestEffectiveUWSGI(t *testing.T) {
	for _, test := range []struct {
		name string
		api  *APISpec
		want UWSGISettings
	}{
		{"no API block", nil, UWSGISettings{Processes: 2, Threads: 1, HTTPKeepAlive: true}},
		{"no uwsgi block", &APISpec{}, UWSGISettings{Processes: 2, Threads: 1, HTTPKeepAlive: true}},
		{"an empty block", &APISpec{UWSGI: &UWSGISpec{}}, UWSGISettings{Processes: 2, Threads: 1, HTTPKeepAlive: true}},
		{"a full block", &APISpec{UWSGI: &UWSGISpec{
			Processes: ptr.To[int32](4), Threads: ptr.To[int32](8), HTTPKeepAlive: ptr.To(false), Harakiri: ptr.To[int32](20), HTTPKeepAliveTimeout: ptr.To[int32](7),
		}}, UWSGISettings{Processes: 4, Threads: 8, Harakiri: ptr.To[int32](20), HTTPKeepAliveTimeout: ptr.To[int32](7)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (&CinderSpec{API: test.api}).EffectiveUWSGI(); !equality.Semantic.DeepEqual(got, test.want) {
				t.Errorf("uwsgi runs as %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestEffectiveLogging(t *testing.T) {
	for _, logging := range []*LoggingSpec{nil, {}} {
		got := (&CinderSpec{Logging: logging}).EffectiveLogging()
		if got.Format != LogFormatText || got.Level != LogLevelInfo || got.Debug || got.PerLoggerLevels != nil {
			t.Errorf("unset logging is %+v, want text at INFO without debug", got)
		}
	}
	levels := map[string]LogLevel{"oslo.messaging": LogLevelWarning}
	got := (&CinderSpec{Logging: &LoggingSpec{Format: LogFormatJSON, Level: LogLevelError, Debug: ptr.To(true), PerLoggerLevels: levels}}).EffectiveLogging()
	if got.Format != LogFormatJSON || got.Level != LogLevelError || !got.Debug || !maps.Equal(got.PerLoggerLevels, levels) {
		t.Errorf("the logging is %+v, want what the spec says", got)
	}
}

func TestEffectiveDBPurge(t *testing.T) {
	for _, purge := range []*DBPurgeSpec{nil, {}} {
		if got, want := (&CinderSpec{DBPurge: purge}).EffectiveDBPurge(), (DBPurgeSettings{RetentionDays: 30, Schedule: "1 0 * * *"}); got != want {
			t.Errorf("an unset purge is %+v, want %+v", got, want)
		}
	}
	spec := CinderSpec{DBPurge: &DBPurgeSpec{RetentionDays: ptr.To[int32](90), Schedule: "@weekly", Suspend: ptr.To(true)}}
	if got, want := spec.EffectiveDBPurge(), (DBPurgeSettings{RetentionDays: 90, Schedule: "@weekly", Suspend: true}); got != want {
		t.Errorf("the purge is %+v, want %+v", got, want)
	}
}

func apiOnStorageNodes() *APISpec {
	return &APISpec{Deployment: &DeploymentSpec{
		PriorityClassName: "control",
		NodeSelector:      map[string]string{"role": "control"},
		Tolerations:       []corev1.Toleration{{Key: "control", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{
			NodeAffinity:    &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}},
			PodAffinity:     &corev1.PodAffinity{},
			PodAntiAffinity: &corev1.PodAntiAffinity{},
		},
	}}
}

func TestJobsFollowTheAPIWhereTheyLeaveAFieldOut(t *testing.T) {
	api := apiOnStorageNodes()
	got := (&CinderSpec{API: api, Jobs: &JobSpec{}}).EffectiveJob()
	want := JobSettings{
		Resources:         (&CinderSpec{}).EffectiveResources(ComponentJob),
		PriorityClassName: "control",
		NodeSelector:      api.Deployment.NodeSelector,
		Tolerations:       api.Deployment.Tolerations,
		Affinity:          &corev1.Affinity{NodeAffinity: api.Deployment.Affinity.NodeAffinity},
	}
	if !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("the Jobs are shaped as %+v, want %+v", got, want)
	}
	if withoutBlock := (&CinderSpec{API: api}).EffectiveJob(); !equality.Semantic.DeepEqual(withoutBlock, want) {
		t.Errorf("without a block the Jobs are shaped as %+v, want %+v", withoutBlock, want)
	}
}

func TestJobsOptOutOfTheAPIByEmptyValues(t *testing.T) {
	var jobs JobSpec
	if err := json.Unmarshal([]byte(`{"priorityClassName":"","nodeSelector":{},"tolerations":[],"affinity":{}}`), &jobs); err != nil {
		t.Fatal(err)
	}
	got := (&CinderSpec{API: apiOnStorageNodes(), Jobs: &jobs}).EffectiveJob()
	if got.PriorityClassName != "" || len(got.NodeSelector) != 0 || len(got.Tolerations) != 0 || got.Affinity == nil || got.Affinity.NodeAffinity != nil {
		t.Errorf("the Jobs are shaped as %+v, want nothing of the API", got)
	}
	raw, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"priorityClassName":"","nodeSelector":{},"tolerations":[],"affinity":{}}`; string(raw) != want {
		t.Errorf("the block is written back as %s, want %s", raw, want)
	}
}

func TestJobsTakeNoPodAffinityFromTheAPI(t *testing.T) {
	api := apiOnStorageNodes()
	api.Deployment.Affinity.NodeAffinity = nil
	if got := (&CinderSpec{API: api}).EffectiveJob(); got.Affinity != nil {
		t.Errorf("the Jobs have the affinity %+v, want none", got.Affinity)
	}
}

func TestStorageDefaults(t *testing.T) {
	nfs := NFSBackendSpec{NFSExportSpec{Server: "nfs", Path: "/volumes"}}
	if got := nfs.EffectiveMountOptions(); got != "nfsvers=4.1,soft,timeo=30,retrans=2" {
		t.Errorf("unset mount options are %q", got)
	}
	if got := nfs.Export(); got != "nfs:/volumes" {
		t.Errorf("the export is %q, want nfs:/volumes", got)
	}
	if got := (RBDPoolSpec{}).EffectiveClusterName(); got != "ceph" {
		t.Errorf("an unset cluster name is %q, want ceph", got)
	}
	backup := &CinderBackupBackendSpec{}
	if backup.EffectiveFileSize() != 52428800 || backup.EffectiveCompression() != BackupCompressionZlib {
		t.Errorf("an unset backup target has chunks of %d bytes by %s", backup.EffectiveFileSize(), backup.EffectiveCompression())
	}
	backup = &CinderBackupBackendSpec{FileSize: ptr.To[int64](1 << 20), Compression: BackupCompressionNone}
	if backup.EffectiveFileSize() != 1<<20 || backup.EffectiveCompression() != BackupCompressionNone {
		t.Errorf("the backup target has chunks of %d bytes by %s, want what the spec says", backup.EffectiveFileSize(), backup.EffectiveCompression())
	}
}
