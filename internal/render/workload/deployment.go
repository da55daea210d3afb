// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// revisionHistory is the number of old ReplicaSets that are kept. It is the
// number of old ConfigMaps and Secrets that are kept as well: an older
// ReplicaSet could not start a pod any more.
const revisionHistory int32 = 3

// service is what the Deployments of the processes differ in.
type service struct {
	name      string
	component v1alpha1.Component
	// label is the value of the component label; it names the backend of a
	// volume service.
	label    string
	replicas int32
	// onlyOne marks a process that owns a host identity: exactly one pod, gone
	// before its successor starts.
	onlyOne   bool
	container corev1.Container
	volumes   []corev1.Volume
	// bus marks a process that works off the message bus.
	bus bool
}

func deployment(c *v1alpha1.Cinder, f render.Facts, s service) *appsv1.Deployment {
	spec := c.Spec.DeploymentSpecOf(s.component)
	strategy := c.Spec.EffectiveStrategy(s.component)
	if s.onlyOne {
		s.replicas = 1
		strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	if strategy.Type == appsv1.RollingUpdateDeploymentStrategyType && strategy.RollingUpdate == nil {
		// One surge pod is what the database's connection cap has room for, and
		// Kubernetes' own default of a quarter may be more.
		strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
			MaxSurge:       ptr.To(intstr.FromInt32(1)),
			MaxUnavailable: ptr.To(intstr.FromInt32(0)),
		}
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta(c, s.name, render.Labels(c.Name, s.label)),
		Spec: appsv1.DeploymentSpec{
			Replicas:             ptr.To(s.replicas),
			RevisionHistoryLimit: ptr.To(revisionHistory),
			Selector:             &metav1.LabelSelector{MatchLabels: render.SelectorLabels(c.Name, s.label)},
			Strategy:             strategy,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      render.Labels(c.Name, s.label),
					Annotations: podAnnotations(f, s.bus),
				},
				Spec: servicePod(c, f, s, spec),
			},
		},
	}
}

func servicePod(c *v1alpha1.Cinder, f render.Facts, s service, spec *v1alpha1.DeploymentSpec) corev1.PodSpec {
	container := s.container
	finishContainer(c, f, &container)
	container.Resources = c.Spec.EffectiveResources(s.component)
	if sleep := spec.EffectivePreStopSleepSeconds(); sleep > 0 {
		container.Lifecycle = &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: sleep}},
		}
	}
	pod := corev1.PodSpec{
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To(spec.EffectiveTerminationGracePeriodSeconds()),
		SecurityContext:               podSecurity(),
		Containers:                    []corev1.Container{container},
		Volumes:                       s.volumes,
	}
	if s.onlyOne {
		// Volume and backup pods mount exports that are large: walking them to
		// change owners that are right already would take hours.
		pod.SecurityContext.FSGroupChangePolicy = ptr.To(corev1.FSGroupChangeOnRootMismatch)
	}
	if spec != nil {
		spec = spec.DeepCopy()
		pod.PriorityClassName = spec.PriorityClassName
		pod.NodeSelector = spec.NodeSelector
		pod.Tolerations = spec.Tolerations
		pod.Affinity = spec.Affinity
		if len(spec.TopologySpreadConstraints) > 0 {
			pod.TopologySpreadConstraints = spec.TopologySpreadConstraints
		}
	}
	return pod
}

func meta(c *v1alpha1.Cinder, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: labels}
}

// podAnnotations carry what a process reads once at its start and nothing else
// in its pod's template shows: a change has to roll the pods.
func podAnnotations(f render.Facts, bus bool) map[string]string {
	annotations := map[string]string{
		render.AnnotationDBConnectionHash: f.DBConnectionHash,
		render.AnnotationAuthtokenHash:    f.AuthtokenHash,
		render.AnnotationTransportURLHash: f.TransportURLHash,
	}
	if bus {
		annotations[render.AnnotationInstalledRelease] = f.InstalledRelease
	}
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" })
	return annotations
}
