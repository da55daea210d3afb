// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// deployment judges the block that shapes the Deployments of a component.
func (c *check) deployment(path *field.Path, cinder string, component v1alpha1.Component, d *v1alpha1.DeploymentSpec) {
	if d == nil {
		return
	}
	atLeast(c, path.Child("replicas"), d.Replicas, 1)
	atLeast(c, path.Child("terminationGracePeriodSeconds"), d.TerminationGracePeriodSeconds, 10)
	atLeast(c, path.Child("preStopSleepSeconds"), d.PreStopSleepSeconds, 0)
	if d.EffectivePreStopSleepSeconds() >= d.EffectiveTerminationGracePeriodSeconds() {
		c.invalid(path, d.EffectivePreStopSleepSeconds(), "preStopSleepSeconds must be strictly less than terminationGracePeriodSeconds")
	}
	c.resources(path.Child("resources"), d.Resources)
	c.nodeSelector(path.Child("nodeSelector"), d.NodeSelector)
	c.tolerations(path.Child("tolerations"), d.Tolerations)
	c.verticalAutoscaling(path.Child("verticalAutoscaling"), d.VerticalAutoscaling)

	switch component {
	case v1alpha1.ComponentVolume, v1alpha1.ComponentBackup:
		c.singleton(path, d)
	default:
		c.spread(path.Child("topologySpreadConstraints"), cinder, component, d.TopologySpreadConstraints)
	}
}

// singleton judges what the volume and backup services, which own a host identity, may not have.
func (c *check) singleton(path *field.Path, d *v1alpha1.DeploymentSpec) {
	if d.Replicas != nil && *d.Replicas != 1 {
		c.invalid(path.Child("replicas"), *d.Replicas, "volume/backup deployments run exactly one replica (the NFS drivers refuse active/active)")
	}
	if s := d.Strategy; s != nil {
		recreate := s.Type == appsv1.RecreateDeploymentStrategyType || (s.Type == "" && s.RollingUpdate == nil)
		if !recreate {
			c.invalid(path.Child("strategy"), s.Type, "volume/backup deployments must use the Recreate strategy")
		}
	}
	if len(d.TopologySpreadConstraints) > 0 {
		c.invalid(path.Child("topologySpreadConstraints"), len(d.TopologySpreadConstraints), "volume/backup deployments take no topology spread constraints (there is one pod to spread)")
	}
}

// job judges the block that shapes the pods of Jobs.
func (c *check) job(path *field.Path, j *v1alpha1.JobSpec) {
	if j == nil {
		return
	}
	c.resources(path.Child("resources"), j.Resources)
	c.nodeSelector(path.Child("nodeSelector"), j.NodeSelector)
	c.tolerations(path.Child("tolerations"), j.Tolerations)
}

func (c *check) resources(path *field.Path, r *corev1.ResourceRequirements) {
	if r == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		if q := r.Limits[name]; q.Sign() < 0 {
			c.invalid(path.Child("limits").Key(string(name)), q.String(), "must be greater than or equal to 0")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		at := path.Child("requests").Key(string(name))
		if request.Sign() < 0 {
			c.invalid(at, request.String(), "must be greater than or equal to 0")
		}
		if limit, ok := r.Limits[name]; ok && request.Cmp(limit) > 0 {
			c.invalid(at, request.String(), "must be less than or equal to %s limit of %s", name, limit.String())
		}
	}
}

func (c *check) nodeSelector(path *field.Path, selector map[string]string) {
	c.errs = append(c.errs, metav1validation.ValidateLabels(selector, path)...)
}

func (c *check) tolerations(path *field.Path, tolerations []corev1.Toleration) {
	for i, t := range tolerations {
		at := path.Index(i)
		if t.Key != "" {
			for _, message := range validation.IsQualifiedName(t.Key) {
				c.invalid(at.Child("key"), t.Key, "%s", message)
			}
		} else if t.Operator != corev1.TolerationOpExists {
			c.invalid(at.Child("operator"), t.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			c.invalid(at.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			for _, message := range validation.IsValidLabelValue(t.Value) {
				c.invalid(at.Child("value"), t.Value, "%s", message)
			}
		case corev1.TolerationOpExists:
			if t.Value != "" {
				c.invalid(at.Child("value"), t.Value, "value must be empty when `operator` is 'Exists'")
			}
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			// Whether these are served is for the cluster of the pods to say.
		default:
			enum(c, at.Child("operator"), t.Operator, true, corev1.TolerationOpEqual, corev1.TolerationOpExists)
		}
		enum(c, at.Child("effect"), t.Effect, false,
			corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
	}
}

// spread wants constraints that count the Deployment's own pods and nobody else's: any other one spreads the pods by
// where their neighbours are.
func (c *check) spread(path *field.Path, cinder string, component v1alpha1.Component, constraints []corev1.TopologySpreadConstraint) {
	own := podLabels(cinder, string(component))
	for i, constraint := range constraints {
		at := path.Index(i).Child("labelSelector")
		if constraint.LabelSelector == nil {
			c.errs = append(c.errs, field.Required(at, ownPods(own)))
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
		if err != nil {
			c.invalid(at, metav1.FormatLabelSelector(constraint.LabelSelector), "%v", err)
			continue
		}
		matches := selector.Matches(own)
		for _, other := range []string{"", "api", "scheduler", "volume-", "backup", "job"} {
			if other != string(component) && selector.Matches(podLabels(cinder, other)) {
				matches = false
			}
		}
		if !matches {
			c.invalid(at, metav1.FormatLabelSelector(constraint.LabelSelector), "%s", ownPods(own))
		}
	}
}

// The labels of the pods that a constraint may rely on.
const (
	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelManagedBy = "app.kubernetes.io/managed-by"
)

func podLabels(cinder, component string) labels.Set {
	set := labels.Set{labelName: "cinder", labelInstance: cinder, labelManagedBy: "cinder-operator"}
	if component != "" {
		set[labelComponent] = component
	}
	return set
}

func ownPods(own labels.Set) string {
	return fmt.Sprintf("must match the Deployment's own pods and no others: %s=%s, %s=%s, %s=%s",
		labelName, own[labelName], labelInstance, own[labelInstance], labelComponent, own[labelComponent])
}

func (c *check) verticalAutoscaling(path *field.Path, v *v1alpha1.VerticalAutoscalingSpec) {
	if v == nil {
		return
	}
	enum(c, path.Child("updateMode"), v.UpdateMode, true, v1alpha1.VerticalAutoscalingOff, v1alpha1.VerticalAutoscalingInitial,
		v1alpha1.VerticalAutoscalingRecreate, v1alpha1.VerticalAutoscalingAuto)
	atLeast(c, path.Child("minReplicas"), v.MinReplicas, 1)
	for _, list := range []struct {
		name   string
		values corev1.ResourceList
	}{{"minAllowed", v.MinAllowed}, {"maxAllowed", v.MaxAllowed}} {
		at := path.Child(list.name)
		c.count(at, len(list.values), 0, 2)
		for name := range list.values {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
				c.invalid(at, name, "%s may only name cpu and memory", list.name)
				break
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.MinAllowed)) {
		least := v.MinAllowed[name]
		if most, ok := v.MaxAllowed[name]; ok && least.Cmp(most) > 0 {
			c.invalid(path.Child("minAllowed").Key(string(name)), least.String(), "minAllowed must not exceed maxAllowed")
		}
	}
}
