// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/rendertest"
)

func TestAnExportsFolderIsTheOneCinderComputes(t *testing.T) {
	export := render.Export("nfs-server.openstack.svc.cluster.local", "/volumes")
	if got := render.ExportHash(export); got != "6f3cb55ed3b423dbb7791aaf3783754f" {
		t.Errorf("the folder of %s is %s", export, got)
	}
	if got := rendertest.NFSBackend("a").Spec.NFS.Export(); got != export {
		t.Errorf("a backend names its export %q", got)
	}
}

func TestNamesOfChildren(t *testing.T) {
	for got, want := range map[string]string{
		render.SchedulerName("cinder"):              "cinder-scheduler",
		render.VolumeName("cinder", "nfs-a"):        "cinder-volume-nfs-a",
		render.BackupName("cinder"):                 "cinder-backup",
		render.ConfigBase("cinder"):                 "cinder-config",
		render.BackendBase("cinder", "nfs-a"):       "cinder-backend-nfs-a",
		render.BackupBase("cinder", "t"):            "cinder-backup-t",
		render.DBConnectionName("cinder"):           "cinder-db-connection",
		render.TransportURLName("cinder"):           "cinder-transport-url",
		render.ServiceUserName("cinder"):            "cinder-service-user",
		render.DBSyncName("cinder"):                 "cinder-db-sync",
		render.DBExpandName("cinder"):               "cinder-db-expand",
		render.DBMigrateName("cinder"):              "cinder-db-migrate",
		render.DBContractName("cinder"):             "cinder-db-contract",
		render.DBPurgeName("cinder"):                "cinder-db-purge",
		render.ServiceRemoveName("cinder", "nfs-a"): "cinder-nfs-a-service-remove",
		render.VolumeHost("cinder", "nfs-a"):        "cinder@nfs-a",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTheLongestAdmittedNamesAreNotCut(t *testing.T) {
	cinder := strings.Repeat("c", 43)
	if got := render.DBPurgeName(cinder); got != cinder+"-db-purge" {
		t.Errorf("the purge of a name of 43 is %q", got)
	}
	cinder, backend := strings.Repeat("c", 12), strings.Repeat("b", 35)
	if got := render.ServiceRemoveName(cinder, backend); got != cinder+"-"+backend+"-service-remove" {
		t.Errorf("the longest removal is %q", got)
	}
}

func TestALongNameIsCutWithAStableDigest(t *testing.T) {
	long := strings.Repeat("c", 44)
	first := render.FitName(render.MaxCronJobName, long, "db-purge")
	if len(first) != 52 || first != render.FitName(render.MaxCronJobName, long, "db-purge") || first == long+"-db-purge" {
		t.Errorf("got %q", first)
	}
	if second := render.FitName(render.MaxCronJobName, long+"x", "db-purge"); second == first {
		t.Errorf("two names became %q", first)
	}
	// The digest is part of what lives on clusters: it must not change.
	if want := strings.Repeat("c", 43) + "-" + first[44:]; first != want || first[44:] != "444e39b9" {
		t.Errorf("got %q", first)
	}
}

func TestDigestsKeepTheirPartsApart(t *testing.T) {
	if render.Digest("a", "b") == render.Digest("ab") || render.Digest("a", "") == render.Digest("a") {
		t.Error("two lists of parts have one digest")
	}
}

func TestBrokerPorts(t *testing.T) {
	if f := (render.Facts{}); f.EffectiveBrokerPort() != 5672 || !slices.Equal(f.EffectiveBrokerPorts(), []int32{5672}) {
		t.Errorf("no port gives %v", f.EffectiveBrokerPorts())
	}
	f := render.Facts{BrokerPort: 5673, BrokerPorts: []int32{5673, 5671}}
	if f.EffectiveBrokerPort() != 5673 || !slices.Equal(f.EffectiveBrokerPorts(), []int32{5671, 5673}) {
		t.Errorf("got %v", f.EffectiveBrokerPorts())
	}
}

func TestTheConnectionCapHasRoomForTheWholeTopology(t *testing.T) {
	c := rendertest.Cinder()
	// (3+1) x 2 x 1 x 2 + 2 x (1+2+1) + 2
	if got := render.MaxUserConnections(c, 2); got != 26 {
		t.Errorf("the default topology with two backends gets %d", got)
	}
	c.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 10}
	c.Spec.API = &v1alpha1.APISpec{UWSGI: &v1alpha1.UWSGISpec{Processes: ptr.To[int32](4), Threads: ptr.To[int32](2)}}
	c.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{Replicas: ptr.To[int32](2)}}
	// (10+1) x 4 x 2 x 2 + 2 x (2+0+1) + 2
	if got := render.MaxUserConnections(c, 0); got != 184 {
		t.Errorf("ten autoscaled pods get %d", got)
	}
	c.Spec.Autoscaling.MaxReplicas = math.MaxInt32
	if got := render.MaxUserConnections(c, 0); got != math.MaxInt32 {
		t.Errorf("a huge ceiling gets %d", got)
	}
}
