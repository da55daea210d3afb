// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/rendertest"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// object is anything with a kind and a name.
type object interface {
	metav1.Object
	runtime.Object
}

// plain is the least a Cinder has: no Keystone, no backend.
func plain() (*v1alpha1.Cinder, render.Facts) {
	return rendertest.Cinder(), rendertest.Facts()
}

// nfs is a Cinder behind Keystone with NFS backends and an NFS target.
func nfs() (*v1alpha1.Cinder, render.Facts) {
	f := rendertest.Facts()
	f.AuthtokenHash = "cccc"
	f.Backends = []render.Backend{
		render.NewBackend(rendertest.NFSBackend("nfs-b"), "cinder-backend-nfs-b-1", ""),
		render.NewBackend(rendertest.NFSBackend("nfs-a"), "cinder-backend-nfs-a-1", ""),
	}
	f.Backends[0].NFS.Path = "/other"
	f.Backup = render.NewBackupTarget(rendertest.NFSBackup("nfs-backups"), "cinder-backup-nfs-backups-1", "")
	return rendertest.KeystoneCinder(), f
}

// full sets what a pod can show: TLS, scheduling, RBD beside NFS.
func full() (*v1alpha1.Cinder, render.Facts) {
	c := rendertest.FullCinder()
	c.Spec.Image = v1alpha1.ImageSpec{
		Repository: "registry.example.org/openstack/cinder",
		Digest:     "sha256:" + strings.Repeat("0123456789abcdef", 4),
	}
	c.Spec.API = &v1alpha1.APISpec{
		Deployment: &v1alpha1.DeploymentSpec{
			Replicas:                      ptr.To[int32](2),
			TerminationGracePeriodSeconds: ptr.To[int64](60),
			PreStopSleepSeconds:           ptr.To[int64](10),
			PriorityClassName:             "high",
			NodeSelector:                  map[string]string{"role": "control"},
			Tolerations:                   []corev1.Toleration{{Key: "control", Operator: corev1.TolerationOpExists}},
			Affinity: &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "storage", Operator: corev1.NodeSelectorOpExists},
					}}},
				}},
				PodAntiAffinity: &corev1.PodAntiAffinity{},
			},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: render.SelectorLabels(c.Name, render.ComponentAPI)},
			}},
		},
		UWSGI: &v1alpha1.UWSGISpec{
			Processes: ptr.To[int32](4), Threads: ptr.To[int32](2), Harakiri: ptr.To[int32](40), HTTPKeepAliveTimeout: ptr.To[int32](75),
		},
	}
	c.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{
		MaxReplicas: 6, TargetCPUUtilization: ptr.To[int32](70), TargetMemoryUtilization: ptr.To[int32](80),
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](600)}},
	}
	c.Spec.DBPurge = &v1alpha1.DBPurgeSpec{RetentionDays: ptr.To[int32](7), Schedule: "@weekly", Suspend: ptr.To(true)}
	f := rendertest.Facts()
	f.AuthtokenHash = "cccc"
	f.ConfigKeys = []string{render.KeyPolicy, render.KeySchedulerConf, render.KeyLogging, render.KeyCinderConf}
	f.BrokerPort = 5671
	f.LiveReplicas = ptr.To[int32](5)
	f.Backends = []render.Backend{
		render.NewBackend(rendertest.RBDBackend("rbd-a"), "cinder-backend-rbd-a-1", "key-a"),
		render.NewBackend(rendertest.NFSBackend("nfs-a"), "cinder-backend-nfs-a-1", ""),
	}
	f.Backup = render.NewBackupTarget(rendertest.RBDBackup("rbd-backups"), "cinder-backup-rbd-backups-1", "key-b")
	return c, f
}

var samples = map[string]func() (*v1alpha1.Cinder, render.Facts){"plain": plain, "nfs": nfs, "full": full}

// objects renders everything a sample has, by a name for its golden file.
func objects(c *v1alpha1.Cinder, f render.Facts) map[string]object {
	out := map[string]object{
		"api":         workload.API(c, f),
		"service":     workload.Service(c),
		"pdb":         workload.PDB(c),
		"scheduler":   workload.Scheduler(c, f),
		"db-sync":     workload.DBSync(c, f),
		"db-expand":   workload.DBExpand(c, f, "2026.1", "2026.2"),
		"db-migrate":  workload.DBMigrate(c, f, "2026.1", "2026.2"),
		"db-contract": workload.DBContract(c, f, "2026.1", "2026.2"),
		"db-purge":    workload.DBPurge(c, f),
	}
	for _, backend := range f.Backends {
		out["volume-"+backend.Name] = workload.Volume(c, f, backend)
		out["service-remove-"+backend.Name] = workload.ServiceRemove(c, f, backend.Name, "5d8c9e6e-0000-4000-8000-000000000001")
	}
	if f.Backup != nil {
		out["backup"], _ = workload.Backup(c, f)
	}
	if hpa := workload.HPA(c); hpa != nil {
		out["hpa"] = hpa
	}
	return out
}

// templates are the pod templates among the objects.
func templates(objects map[string]object) map[string]corev1.PodTemplateSpec {
	out := map[string]corev1.PodTemplateSpec{}
	for name, rendered := range objects {
		switch o := rendered.(type) {
		case *appsv1.Deployment:
			out[name] = o.Spec.Template
		case *batchv1.Job:
			out[name] = o.Spec.Template
		case *batchv1.CronJob:
			out[name] = o.Spec.JobTemplate.Spec.Template
		}
	}
	return out
}

// eachTemplate runs a test for every pod template of every sample.
func eachTemplate(t *testing.T, test func(*testing.T, corev1.PodTemplateSpec)) {
	t.Helper()
	for sample, build := range samples {
		for name, template := range templates(objects(build())) {
			t.Run(sample+"/"+name, func(t *testing.T) { test(t, template) })
		}
	}
}

func TestEveryObjectIsRenderedAsItsGoldenFile(t *testing.T) {
	for sample, build := range samples {
		t.Run(sample, func(t *testing.T) {
			all := objects(build())
			for name, rendered := range all {
				rendertest.Golden(t, sample+"/"+name+".yaml", rendertest.YAML(t, rendered))
			}
			rendertest.Stable(t, func() string {
				var b strings.Builder
				again := objects(build())
				for _, name := range slices.Sorted(maps.Keys(again)) {
					b.WriteString(rendertest.JSON(t, again[name]))
				}
				return b.String()
			})
		})
	}
}

func TestTheOrderOfBackendsInTheFactsChangesNothing(t *testing.T) {
	c, f := nfs()
	want, _ := workload.Backup(c, f)
	slices.Reverse(f.Backends)
	got, _ := workload.Backup(c, f)
	if a, b := rendertest.YAML(t, want), rendertest.YAML(t, got); a != b {
		t.Errorf("the backup Deployment follows the order:\n%s\n%s", a, b)
	}
}

func TestRenderingLeavesItsInputAlone(t *testing.T) {
	c, f := full()
	before := rendertest.YAML(t, c) + rendertest.YAML(t, f)
	for _, rendered := range objects(c, f) {
		labels := rendered.GetLabels()
		labels["added"] = "later"
	}
	for _, template := range templates(objects(c, f)) {
		if template.Spec.NodeSelector != nil {
			template.Spec.NodeSelector["added"] = "later"
		}
	}
	if after := rendertest.YAML(t, c) + rendertest.YAML(t, f); after != before {
		t.Error("a change of a rendered object reached the Cinder")
	}
}
