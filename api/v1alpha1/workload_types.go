// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// DeploymentSpec shapes the Deployment of one service. Values left unset are
// resolved when the pod is rendered and never written back, so that a new
// default reaches every Cinder that did not choose.
//
// +kubebuilder:validation:XValidation:rule="(has(self.preStopSleepSeconds) ? self.preStopSleepSeconds : 5) < (has(self.terminationGracePeriodSeconds) ? self.terminationGracePeriodSeconds : 30)",message="preStopSleepSeconds must be strictly less than terminationGracePeriodSeconds"
type DeploymentSpec struct {
	// replicas is the number of pods. Unset stands for 3 for the API and for 1
	// elsewhere; volume and backup admit 1 alone. With autoscaling the value is
	// the lower bound.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Replicas *int32 `json:"replicas,omitempty"`

	// resources are the container's requests and limits. CPU that is named in
	// neither stands for a request of 70m without a limit. Memory that is named in
	// neither stands for one figure as request and limit: 368Mi for the scheduler
	// and the volume services, 2Gi for the backup service, and for the API 224Mi
	// plus, for each process, 248Mi and 32Mi for each thread after the first.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// terminationGracePeriodSeconds is how long a pod may take to stop, the
	// preStop sleep included. Unset stands for 30.
	// +optional
	// +kubebuilder:validation:Minimum=10
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// preStopSleepSeconds is how long a stopping pod goes on serving, so that it
	// leaves the endpoints before it stops listening. Unset stands for 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PreStopSleepSeconds *int64 `json:"preStopSleepSeconds,omitempty"`

	// strategy is how pods are replaced. Unset stands for RollingUpdate for the
	// API and the scheduler; volume and backup admit Recreate alone.
	// +optional
	Strategy *appsv1.DeploymentStrategy `json:"strategy,omitempty"`

	// topologySpreadConstraints spread the pods over nodes and zones. Volume and
	// backup services admit an empty list alone: there is one pod to spread.
	// +optional
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitzero"`

	// priorityClassName is the priority class of the pods, on the cluster they run
	// on.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// nodeSelector are the labels a node must carry to run the pods.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitzero"`

	// tolerations are the taints the pods tolerate.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitzero"`

	// affinity are the scheduling constraints of the pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// verticalAutoscaling lets a VerticalPodAutoscaler size the container. It
	// needs the VerticalPodAutoscaler's API on the cluster the pods run on;
	// without it VPAReady is False. It cannot be combined with spec.autoscaling on
	// the API.
	// +optional
	VerticalAutoscaling *VerticalAutoscalingSpec `json:"verticalAutoscaling,omitempty"`
}

// VerticalAutoscalingMode is what a VerticalPodAutoscaler does with its
// recommendations.
//
// +kubebuilder:validation:Enum=Off;Initial;Recreate;Auto
type VerticalAutoscalingMode string

// The modes of vertical autoscaling.
const (
	VerticalAutoscalingOff      VerticalAutoscalingMode = "Off"
	VerticalAutoscalingInitial  VerticalAutoscalingMode = "Initial"
	VerticalAutoscalingRecreate VerticalAutoscalingMode = "Recreate"
	VerticalAutoscalingAuto     VerticalAutoscalingMode = "Auto"
)

// VerticalAutoscalingSpec shapes the VerticalPodAutoscaler of a Deployment.
type VerticalAutoscalingSpec struct {
	// updateMode is Off (recommend alone), Initial (set requests when a pod is
	// created), Recreate (also evict pods to apply a new recommendation) or Auto
	// (whatever the installed autoscaler holds best).
	// +required
	UpdateMode VerticalAutoscalingMode `json:"updateMode"`

	// minReplicas is how many pods must be running before the autoscaler evicts
	// one. Unset leaves the autoscaler's own default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// minAllowed is the least the autoscaler may recommend, for cpu and memory. It
	// must not exceed maxAllowed.
	// +optional
	// +kubebuilder:validation:MaxProperties=2
	// +kubebuilder:validation:XValidation:rule="self.all(k, k == 'cpu' || k == 'memory')",message="minAllowed may only name cpu and memory"
	MinAllowed corev1.ResourceList `json:"minAllowed,omitempty"`

	// maxAllowed is the most the autoscaler may recommend, for cpu and memory.
	// +optional
	// +kubebuilder:validation:MaxProperties=2
	// +kubebuilder:validation:XValidation:rule="self.all(k, k == 'cpu' || k == 'memory')",message="maxAllowed may only name cpu and memory"
	MaxAllowed corev1.ResourceList `json:"maxAllowed,omitempty"`
}

// JobSpec shapes the pods of the migration, purge and service-remove Jobs. A
// scheduling field that is left out follows spec.api.deployment; one that is
// written with an empty value opts out of that.
type JobSpec struct {
	// resources are the container's requests and limits. Unlike the scheduling
	// fields they do not follow the API: CPU that is named in neither stands for a
	// request of 70m without a limit, memory for 368Mi as request and limit.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// priorityClassName is the priority class of the pods. Left out, it follows
	// spec.api.deployment; "" is none.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`

	// nodeSelector are the labels a node must carry. Left out, it follows
	// spec.api.deployment; {} is none.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitzero"`

	// tolerations are the taints the pods tolerate. Left out, they follow
	// spec.api.deployment; [] is none.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitzero"`

	// affinity are the scheduling constraints. Left out, the node affinity of
	// spec.api.deployment is followed, and its pod affinities are not; {} is none.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
}

// UWSGISpec shapes the uWSGI server of the API.
//
// +kubebuilder:validation:XValidation:rule="!has(self.httpKeepAliveTimeout) || !has(self.httpKeepAlive) || self.httpKeepAlive",message="httpKeepAliveTimeout may only be set when httpKeepAlive is true"
type UWSGISpec struct {
	// processes is the number of worker processes of each pod.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	Processes *int32 `json:"processes,omitempty"`

	// threads is the number of threads of each process.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	Threads *int32 `json:"threads,omitempty"`

	// httpKeepAlive keeps client connections open between requests.
	// +optional
	// +kubebuilder:default=true
	HTTPKeepAlive *bool `json:"httpKeepAlive,omitempty"`

	// harakiri is the number of seconds after which a request is given up and its
	// worker is recycled. It must be less than the grace period without the
	// preStop sleep. Unset never gives up.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Harakiri *int32 `json:"harakiri,omitempty"`

	// httpKeepAliveTimeout is the number of seconds after which an idle client
	// connection is closed. Unset leaves uWSGI's own default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	HTTPKeepAliveTimeout *int32 `json:"httpKeepAliveTimeout,omitempty"`
}

// AutoscalingSpec shapes the HorizontalPodAutoscaler of the API.
//
// +kubebuilder:validation:XValidation:rule="has(self.targetCPUUtilization) || has(self.targetMemoryUtilization)",message="at least one of targetCPUUtilization or targetMemoryUtilization must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas must not exceed maxReplicas"
type AutoscalingSpec struct {
	// minReplicas is the least number of pods. Unset stands for
	// spec.api.deployment.replicas, but never for more than maxReplicas.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the largest number of pods. The cap on database connections
	// is sized for it.
	// +required
	// +kubebuilder:validation:Minimum=1
	MaxReplicas int32 `json:"maxReplicas"`

	// targetCPUUtilization is the average CPU use to hold, in percent of the
	// request.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TargetCPUUtilization *int32 `json:"targetCPUUtilization,omitempty"`

	// targetMemoryUtilization is the average memory use to hold, in percent of the
	// request.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TargetMemoryUtilization *int32 `json:"targetMemoryUtilization,omitempty"`

	// behavior says how fast pods are added and removed. It is copied to the
	// HorizontalPodAutoscaler as it is.
	// +optional
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
}
