// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/rendertest"
	"c5c3.io/cinder-operator/internal/render/workload"
)

func environment(template corev1.PodTemplateSpec) map[string]corev1.EnvVar {
	out := map[string]corev1.EnvVar{}
	for _, v := range template.Spec.Containers[0].Env {
		out[v.Name] = v
	}
	return out
}

func TestCredentialsComeFromSecretsInTheEnvironment(t *testing.T) {
	passwords := []string{"OS_KEYSTONE_AUTHTOKEN__PASSWORD", "OS_SERVICE_USER__PASSWORD", "OS_NOVA__PASSWORD"}
	for sample, build := range samples {
		c, f := build()
		for name, template := range templates(objects(c, f)) {
			env := environment(template)
			from := func(variable string) string {
				if v := env[variable]; v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
					return v.ValueFrom.SecretKeyRef.Name + "/" + v.ValueFrom.SecretKeyRef.Key
				}
				return ""
			}
			if got := from("OS_DATABASE__CONNECTION"); got != "cinder-db-connection/connection" {
				t.Errorf("%s/%s: the database URL comes from %q", sample, name, got)
			}
			if got := from("OS_DEFAULT__TRANSPORT_URL"); got != "cinder-transport-url/transport_url" {
				t.Errorf("%s/%s: the bus URL comes from %q", sample, name, got)
			}
			for _, variable := range passwords {
				want := ""
				if c.Spec.KeystoneEndpoint != "" {
					want = "cinder-service-user/password"
				}
				if got := from(variable); got != want {
					t.Errorf("%s/%s: %s comes from %q, want %q", sample, name, variable, got, want)
				}
			}
		}
	}
}

func TestBusProcessesProbeTheBroker(t *testing.T) {
	c, f := full()
	for name, template := range templates(objects(c, f)) {
		container := template.Spec.Containers[0]
		port := environment(template)["CINDER_AMQP_PORT"].Value
		probe := container.ReadinessProbe
		component := template.Labels[render.LabelComponent]
		switch {
		case component == render.ComponentAPI:
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != "/healthcheck" || port != "" {
				t.Errorf("%s: probe %v, port %q", name, probe, port)
			}
		case component == render.ComponentJob:
			if probe != nil || (port == "5671") != strings.HasPrefix(name, "service-remove") {
				t.Errorf("%s: probe %v, port %q", name, probe, port)
			}
		default:
			if probe == nil || probe.Exec == nil || !reflect.DeepEqual(probe.Exec.Command, []string{"cinder-amqp-ready"}) || port != "5671" {
				t.Errorf("%s: probe %v, port %q", name, probe, port)
			}
		}
	}
}

func TestAnnotationsRollThePodsThatReadTheValue(t *testing.T) {
	c, f := nfs()
	all := objects(c, f)
	for _, name := range []string{"api", "scheduler", "volume-nfs-a", "backup"} {
		want := map[string]string{
			"cinder.c5c3.io/db-connection-hash": "aaaa",
			"cinder.c5c3.io/transport-url-hash": "bbbb",
			"cinder.c5c3.io/authtoken-hash":     "cccc",
		}
		if name != "api" {
			want["cinder.c5c3.io/installed-release"] = "2026.1"
		}
		if got := all[name].(*appsv1.Deployment).Spec.Template.Annotations; !reflect.DeepEqual(got, want) {
			t.Errorf("%s carries %v, want %v", name, got, want)
		}
	}
	if got := workload.DBSync(c, f).Spec.Template.Annotations; got != nil {
		t.Errorf("a rotated credential would run db-sync anew: %v", got)
	}
}

func TestVolumeAndBackupAreOnePodEach(t *testing.T) {
	c, f := full()
	several := v1alpha1.DeploymentSpec{
		Replicas: ptr.To[int32](3), Strategy: &appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{},
	}
	c.Spec.Volume = &v1alpha1.VolumeSpec{Deployment: &several}
	c.Spec.Backup = &v1alpha1.BackupSpec{Deployment: &several}
	backup, _ := workload.Backup(c, f)
	for _, d := range []*appsv1.Deployment{workload.Volume(c, f, f.Backends[0]), backup} {
		if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || d.Spec.Strategy.RollingUpdate != nil {
			t.Errorf("%s: %d replicas, %+v", d.Name, *d.Spec.Replicas, d.Spec.Strategy)
		}
	}
}

func TestAutoscaledReplicasAreTheLiveOnesWithinTheBounds(t *testing.T) {
	c, _ := full()
	for _, step := range []struct {
		live *int32
		want int32
	}{{nil, 2}, {ptr.To[int32](1), 2}, {ptr.To[int32](4), 4}, {ptr.To[int32](9), 6}} {
		if got := workload.APIReplicas(c, step.live); got != step.want {
			t.Errorf("live %v gives %d, want %d", step.live, got, step.want)
		}
	}
	c.Spec.Autoscaling = nil
	if got := workload.APIReplicas(c, ptr.To[int32](4)); got != 2 {
		t.Errorf("without autoscaling the live count gives %d", got)
	}
	if workload.HPA(c) != nil {
		t.Error("an autoscaler is rendered without spec.autoscaling")
	}
}

func TestTheDisruptionBudgetFollowsTheLowerBound(t *testing.T) {
	c := rendertest.Cinder()
	if got := workload.PDB(c).Spec; got.MinAvailable == nil || got.MinAvailable.IntValue() != 1 || got.MaxUnavailable != nil {
		t.Errorf("three replicas give %+v", got)
	}
	c.Spec.API = &v1alpha1.APISpec{Deployment: &v1alpha1.DeploymentSpec{Replicas: ptr.To[int32](1)}}
	if got := workload.PDB(c).Spec; got.MaxUnavailable == nil || got.MaxUnavailable.IntValue() != 1 || got.MinAvailable != nil {
		t.Errorf("one replica gives %+v", got)
	}
}

func TestImagesArePulledByTheWayTheyArePinned(t *testing.T) {
	policy := func(c *v1alpha1.Cinder, f render.Facts) corev1.PullPolicy {
		return workload.API(c, f).Spec.Template.Spec.Containers[0].ImagePullPolicy
	}
	c, f := plain()
	if got := policy(c, f); got != corev1.PullAlways {
		t.Errorf("a tag is pulled %s", got)
	}
	f.PullPolicy = corev1.PullNever
	if got := policy(c, f); got != corev1.PullNever {
		t.Errorf("the flag does not win: %s", got)
	}
	c, f = full()
	if got := policy(c, f); got != corev1.PullIfNotPresent {
		t.Errorf("a digest is pulled %s", got)
	}
}

func TestTheWholeSleepMayBeTurnedOff(t *testing.T) {
	c, f := plain()
	c.Spec.API = &v1alpha1.APISpec{Deployment: &v1alpha1.DeploymentSpec{PreStopSleepSeconds: ptr.To[int64](0)}}
	if got := workload.API(c, f).Spec.Template.Spec.Containers[0].Lifecycle; got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestKeepAliveMayBeTurnedOff(t *testing.T) {
	c, f := plain()
	c.Spec.API = &v1alpha1.APISpec{UWSGI: &v1alpha1.UWSGISpec{HTTPKeepAlive: ptr.To(false)}}
	for _, arg := range workload.API(c, f).Spec.Template.Spec.Containers[0].Command {
		if strings.Contains(arg, "keepalive") {
			t.Errorf("got %q", arg)
		}
	}
}

func TestTheLiveTemplateTellsWhatItMounts(t *testing.T) {
	c, f := nfs()
	name, keys := workload.MountedConfig(workload.API(c, f).Spec.Template)
	if name != f.ConfigMapName || !slices.Equal(keys, []string{render.KeyCinderConf}) {
		t.Errorf("the API mounts %q, %v", name, keys)
	}
	if got := workload.MountedBackend(workload.Volume(c, f, f.Backends[0]).Spec.Template); got != f.Backends[0].SecretName {
		t.Errorf("the volume service mounts %q", got)
	}
	backup, _ := workload.Backup(c, f)
	if got := workload.MountedBackup(backup.Spec.Template); got != f.Backup.SecretName {
		t.Errorf("the backup service mounts %q", got)
	}
	if name, keys := workload.MountedConfig(corev1.PodTemplateSpec{}); name != "" || keys != nil {
		t.Errorf("an empty template mounts %q, %v", name, keys)
	}
}
