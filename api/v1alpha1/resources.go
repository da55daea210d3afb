// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const mebibyte int64 = 1 << 20

// What resources that a block names in no way stand for. Memory is in bytes.
const (
	DefaultCPUMilli         int64 = 70
	DefaultMemory           int64 = 368 * mebibyte
	DefaultBackupMemory     int64 = 2048 * mebibyte
	DefaultAPIBaseMemory    int64 = 224 * mebibyte
	DefaultAPIProcessMemory int64 = 248 * mebibyte
	DefaultAPIThreadMemory  int64 = 32 * mebibyte
)

// EffectiveResources returns the requests and limits of the component's container. What the block names stays as it is.
// CPU it names neither as a request nor as a limit becomes a request of 70m without a limit: a limit would throttle a
// service at its busiest. Memory it names in neither becomes one figure as request and limit: EffectiveMemory.
func (s *CinderSpec) EffectiveResources(component Component) corev1.ResourceRequirements {
	var block *corev1.ResourceRequirements
	if component == ComponentJob {
		if s.Jobs != nil {
			block = s.Jobs.Resources
		}
	} else if d := s.DeploymentSpecOf(component); d != nil {
		block = d.Resources
	}

	var out corev1.ResourceRequirements
	if block != nil {
		out = *block.DeepCopy()
	}
	if !names(out, corev1.ResourceCPU) {
		set(&out.Requests, corev1.ResourceCPU, *resource.NewMilliQuantity(DefaultCPUMilli, resource.DecimalSI))
	}
	if !names(out, corev1.ResourceMemory) {
		memory := *resource.NewQuantity(s.EffectiveMemory(component), resource.BinarySI)
		set(&out.Requests, corev1.ResourceMemory, memory)
		set(&out.Limits, corev1.ResourceMemory, memory.DeepCopy())
	}
	return out
}

// EffectiveMemory returns the memory, in bytes, that a container of the component gets when the spec names none. The
// API's follows its processes and threads; it saturates instead of overflowing, because neither has an upper bound.
func (s *CinderSpec) EffectiveMemory(component Component) int64 {
	switch component {
	case ComponentAPI:
		uwsgi := s.EffectiveUWSGI()
		perProcess := saturatingAdd(DefaultAPIProcessMemory,
			saturatingMultiply(int64(max(uwsgi.Threads, 1))-1, DefaultAPIThreadMemory))
		return saturatingAdd(DefaultAPIBaseMemory, saturatingMultiply(int64(max(uwsgi.Processes, 1)), perProcess))
	case ComponentBackup:
		return DefaultBackupMemory
	default:
		return DefaultMemory
	}
}

func names(r corev1.ResourceRequirements, name corev1.ResourceName) bool {
	_, requested := r.Requests[name]
	_, limited := r.Limits[name]
	return requested || limited
}

func set(list *corev1.ResourceList, name corev1.ResourceName, quantity resource.Quantity) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = quantity
}

// saturatingMultiply and saturatingAdd take operands that are not negative.
func saturatingMultiply(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

func saturatingAdd(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
