// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/rendertest"
	"c5c3.io/cinder-operator/internal/render/workload"
)

// scaled asks for vertical autoscaling wherever it may be asked for.
func scaled(c *v1alpha1.Cinder) *v1alpha1.Cinder {
	c.Spec.Autoscaling = nil
	vertical := func(mode v1alpha1.VerticalAutoscalingMode) *v1alpha1.DeploymentSpec {
		return &v1alpha1.DeploymentSpec{VerticalAutoscaling: &v1alpha1.VerticalAutoscalingSpec{UpdateMode: mode}}
	}
	c.Spec.API = &v1alpha1.APISpec{Deployment: vertical(v1alpha1.VerticalAutoscalingAuto)}
	c.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: vertical(v1alpha1.VerticalAutoscalingOff)}
	c.Spec.Volume = &v1alpha1.VolumeSpec{Deployment: vertical(v1alpha1.VerticalAutoscalingRecreate)}
	c.Spec.Backup = &v1alpha1.BackupSpec{Deployment: vertical(v1alpha1.VerticalAutoscalingInitial)}
	c.Spec.Volume.Deployment.VerticalAutoscaling.MinReplicas = ptr.To[int32](1)
	c.Spec.Backup.Deployment.VerticalAutoscaling.MinAllowed = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
	c.Spec.Backup.Deployment.VerticalAutoscaling.MaxAllowed = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("4Gi"),
	}
	return c
}

func TestEveryVerticalPodAutoscalerIsRenderedAsItsGoldenFile(t *testing.T) {
	c, f := nfs()
	scaled(c)
	for _, vpa := range workload.VPAs(c, f) {
		rendertest.Golden(t, "vpa/"+vpa.GetName()+".yaml", rendertest.YAML(t, vpa))
	}
}

func TestVerticalPodAutoscalersFollowTheDeploymentsThatExist(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Cinder, *render.Facts)
		want   string
	}{
		"all":              {func(*v1alpha1.Cinder, *render.Facts) {}, "cinder cinder-scheduler cinder-volume-nfs-a cinder-volume-nfs-b cinder-backup"},
		"no backup target": {func(_ *v1alpha1.Cinder, f *render.Facts) { f.Backup = nil }, "cinder cinder-scheduler cinder-volume-nfs-a cinder-volume-nfs-b"},
		"one backend left": {func(_ *v1alpha1.Cinder, f *render.Facts) { f.Backends = f.Backends[1:] }, "cinder cinder-scheduler cinder-volume-nfs-a cinder-backup"},
		"the API alone asks": {func(c *v1alpha1.Cinder, _ *render.Facts) {
			c.Spec.Scheduler, c.Spec.Volume, c.Spec.Backup = nil, nil, nil
		}, "cinder"},
		"a block that asks not": {func(c *v1alpha1.Cinder, _ *render.Facts) { c.Spec.API.Deployment.VerticalAutoscaling = nil }, "cinder-scheduler cinder-volume-nfs-a cinder-volume-nfs-b cinder-backup"},
		"nothing asks for anymore": {func(c *v1alpha1.Cinder, _ *render.Facts) {
			c.Spec.API, c.Spec.Scheduler, c.Spec.Volume, c.Spec.Backup = nil, nil, nil, nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, f := nfs()
			f.Backends = slices.Clone(f.Backends)
			tc.change(scaled(c), &f)
			var names []string
			for _, vpa := range workload.VPAs(c, f) {
				names = append(names, vpa.GetName())
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
