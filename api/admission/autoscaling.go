// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func (c *check) autoscaling(path *field.Path, spec *v1alpha1.CinderSpec) {
	a := spec.Autoscaling
	if a == nil {
		return
	}
	atLeast(c, path.Child("minReplicas"), a.MinReplicas, 1)
	if a.MaxReplicas == 0 {
		c.errs = append(c.errs, field.Required(path.Child("maxReplicas"), "should be greater than or equal to 1"))
	} else {
		atLeast(c, path.Child("maxReplicas"), &a.MaxReplicas, 1)
	}
	atLeast(c, path.Child("targetCPUUtilization"), a.TargetCPUUtilization, 1)
	atLeast(c, path.Child("targetMemoryUtilization"), a.TargetMemoryUtilization, 1)
	if a.TargetCPUUtilization == nil && a.TargetMemoryUtilization == nil {
		c.invalid(path, a.MaxReplicas, "at least one of targetCPUUtilization or targetMemoryUtilization must be set")
	}
	if a.MinReplicas != nil && *a.MinReplicas > a.MaxReplicas {
		c.invalid(path, *a.MinReplicas, "minReplicas must not exceed maxReplicas")
	}
	resources := spec.EffectiveResources(v1alpha1.ComponentAPI)
	c.target(path.Child("targetCPUUtilization"), a.TargetCPUUtilization, corev1.ResourceCPU, resources)
	c.target(path.Child("targetMemoryUtilization"), a.TargetMemoryUtilization, corev1.ResourceMemory, resources)
	if a.Behavior != nil {
		c.stabilization(path.Child("behavior", "scaleUp"), a.Behavior.ScaleUp)
		c.stabilization(path.Child("behavior", "scaleDown"), a.Behavior.ScaleDown)
	}
}

// target judges a utilization, in percent of the request. Without a request the autoscaler has nothing to divide by; above
// the limit no use is ever measured.
func (c *check) target(path *field.Path, percent *int32, name corev1.ResourceName, r corev1.ResourceRequirements) {
	if percent == nil {
		return
	}
	limit, limited := r.Limits[name]
	request, requested := r.Requests[name]
	if !requested {
		// The API server makes the limit the request where there is none.
		request = limit
	}
	if request.Sign() <= 0 {
		c.invalid(path, *percent, "needs a %s request above zero on the API", name)
		return
	}
	if limited && exceeds(*percent, request, limit) {
		c.invalid(path, *percent, "can never be reached: the %s limit is %s at a request of %s", name, limit.String(), request.String())
	}
}

// exceeds tells whether percent of the request is above the limit. Quantities may be beyond what an int64 holds.
func exceeds(percent int32, request, limit resource.Quantity) bool {
	return request.AsApproximateFloat64()*float64(percent) > limit.AsApproximateFloat64()*100
}

func (c *check) stabilization(path *field.Path, rules *autoscalingv2.HPAScalingRules) {
	if rules == nil || rules.StabilizationWindowSeconds == nil {
		return
	}
	if seconds := *rules.StabilizationWindowSeconds; seconds < 0 || seconds > 3600 {
		c.invalid(path.Child("stabilizationWindowSeconds"), seconds, "stabilizationWindowSeconds must be between 0 and 3600")
	}
}
