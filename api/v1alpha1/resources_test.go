// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func TestEffectiveResources(t *testing.T) {
	for _, test := range []struct {
		name      string
		component Component
		spec      CinderSpec
		requests  corev1.ResourceList
		limits    corev1.ResourceList
	}{
		{
			name: "an API without blocks gets the figure of 2 processes of 1 thread", component: ComponentAPI,
			requests: list("cpu", "70m", "memory", "720Mi"), limits: list("memory", "720Mi"),
		},
		{
			name: "the API's memory follows its processes and threads", component: ComponentAPI,
			spec:     CinderSpec{API: &APISpec{UWSGI: &UWSGISpec{Processes: ptr.To[int32](4), Threads: ptr.To[int32](3)}}},
			requests: list("cpu", "70m", "memory", "1472Mi"), limits: list("memory", "1472Mi"),
		},
		{
			name: "a scheduler gets 368Mi", component: ComponentScheduler,
			requests: list("cpu", "70m", "memory", "368Mi"), limits: list("memory", "368Mi"),
		},
		{
			name: "a volume service gets 368Mi", component: ComponentVolume,
			requests: list("cpu", "70m", "memory", "368Mi"), limits: list("memory", "368Mi"),
		},
		{
			name: "a backup service gets 2Gi", component: ComponentBackup,
			requests: list("cpu", "70m", "memory", "2Gi"), limits: list("memory", "2Gi"),
		},
		{
			name: "a Job gets 368Mi, and nothing of the API's block", component: ComponentJob,
			spec:     CinderSpec{API: &APISpec{Deployment: &DeploymentSpec{Resources: &corev1.ResourceRequirements{Requests: list("cpu", "2", "memory", "4Gi")}}}},
			requests: list("cpu", "70m", "memory", "368Mi"), limits: list("memory", "368Mi"),
		},
		{
			name: "a Job's own block counts", component: ComponentJob,
			spec:     CinderSpec{Jobs: &JobSpec{Resources: &corev1.ResourceRequirements{Limits: list("memory", "1Gi")}}},
			requests: list("cpu", "70m"), limits: list("memory", "1Gi"),
		},
		{
			name: "memory that is named as a request gets no limit", component: ComponentScheduler,
			spec:     CinderSpec{Scheduler: &SchedulerSpec{Deployment: &DeploymentSpec{Resources: &corev1.ResourceRequirements{Requests: list("memory", "1Gi")}}}},
			requests: list("cpu", "70m", "memory", "1Gi"),
		},
		{
			name: "CPU that is named as a limit gets no request", component: ComponentBackup,
			spec:     CinderSpec{Backup: &BackupSpec{Deployment: &DeploymentSpec{Resources: &corev1.ResourceRequirements{Limits: list("cpu", "1")}}}},
			requests: list("memory", "2Gi"), limits: list("cpu", "1", "memory", "2Gi"),
		},
		{
			name: "what is named besides CPU and memory stays", component: ComponentVolume,
			spec:     CinderSpec{Volume: &VolumeSpec{Deployment: &DeploymentSpec{Resources: &corev1.ResourceRequirements{Limits: list("ephemeral-storage", "10Gi")}}}},
			requests: list("cpu", "70m", "memory", "368Mi"), limits: list("ephemeral-storage", "10Gi", "memory", "368Mi"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := test.spec.DeepCopy()
			got := test.spec.EffectiveResources(test.component)
			if !equality.Semantic.DeepEqual(got.Requests, test.requests) || !equality.Semantic.DeepEqual(got.Limits, test.limits) {
				t.Errorf("requests %v and limits %v, want %v and %v", got.Requests, got.Limits, test.requests, test.limits)
			}
			if !equality.Semantic.DeepEqual(before, &test.spec) {
				t.Error("resolving the defaults changed the spec")
			}
		})
	}
}

func TestEffectiveMemorySaturates(t *testing.T) {
	for _, test := range []struct {
		name               string
		processes, threads int32
	}{
		{"by the product of processes and threads", math.MaxInt32, math.MaxInt32},
		{"by little more than fits", 1 << 20, 1 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := CinderSpec{API: &APISpec{UWSGI: &UWSGISpec{Processes: &test.processes, Threads: &test.threads}}}
			if got := spec.EffectiveMemory(ComponentAPI); got != math.MaxInt64 {
				t.Errorf("the memory is %d, want the largest number there is", got)
			}
		})
	}
}

func TestEffectiveMemoryOfAnObjectPastAdmissionIsThatOfOneProcess(t *testing.T) {
	spec := CinderSpec{API: &APISpec{UWSGI: &UWSGISpec{Processes: ptr.To[int32](0), Threads: ptr.To[int32](-3)}}}
	if got, want := spec.EffectiveMemory(ComponentAPI), (224+248)*mebibyte; got != want {
		t.Errorf("the memory is %d, want %d", got, want)
	}
}
