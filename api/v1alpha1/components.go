// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
)

// Component is one of the processes a Cinder consists of.
type Component string

// The components. Every volume service and every Job answers to one of them.
const (
	ComponentAPI       Component = "api"
	ComponentScheduler Component = "scheduler"
	ComponentVolume    Component = "volume"
	ComponentBackup    Component = "backup"
	ComponentJob       Component = "job"
)

// What an unset field of a DeploymentSpec stands for.
const (
	DefaultAPIReplicas                   int32 = 3
	DefaultReplicas                      int32 = 1
	DefaultTerminationGracePeriodSeconds int64 = 30
	DefaultPreStopSleepSeconds           int64 = 5
)

// DeploymentSpecOf returns the block that shapes the Deployments of a component: nil when the spec has none, and for
// Jobs, which JobSpec shapes.
func (s *CinderSpec) DeploymentSpecOf(component Component) *DeploymentSpec {
	switch {
	case component == ComponentAPI && s.API != nil:
		return s.API.Deployment
	case component == ComponentScheduler && s.Scheduler != nil:
		return s.Scheduler.Deployment
	case component == ComponentVolume && s.Volume != nil:
		return s.Volume.Deployment
	case component == ComponentBackup && s.Backup != nil:
		return s.Backup.Deployment
	}
	return nil
}

// EffectiveReplicas returns how many pods a Deployment of the component has: what the spec says, or 3 for the API and 1
// elsewhere. With autoscaling the API's number is the lower bound of EffectiveAPIReplicaBounds, not this one.
func (s *CinderSpec) EffectiveReplicas(component Component) int32 {
	if d := s.DeploymentSpecOf(component); d != nil && d.Replicas != nil {
		return *d.Replicas
	}
	if component == ComponentAPI {
		return DefaultAPIReplicas
	}
	return DefaultReplicas
}

// EffectiveAPIReplicaBounds returns the least and the largest number of API pods: both are the effective replicas
// without autoscaling. A lower bound that comes from the replicas never exceeds maxReplicas, because a
// HorizontalPodAutoscaler with such bounds is refused.
func (s *CinderSpec) EffectiveAPIReplicaBounds() (least, largest int32) {
	replicas := s.EffectiveReplicas(ComponentAPI)
	if s.Autoscaling == nil {
		return replicas, replicas
	}
	largest = s.Autoscaling.MaxReplicas
	return min(ptr.Deref(s.Autoscaling.MinReplicas, replicas), largest), largest
}

// EffectiveStrategy returns how pods of the component are replaced: what the spec says, or Recreate for volume and backup
// services, which own a host identity that two pods must never share, and RollingUpdate elsewhere.
func (s *CinderSpec) EffectiveStrategy(component Component) appsv1.DeploymentStrategy {
	var strategy appsv1.DeploymentStrategy
	if d := s.DeploymentSpecOf(component); d != nil && d.Strategy != nil {
		strategy = *d.Strategy.DeepCopy()
	}
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
		if component == ComponentVolume || component == ComponentBackup {
			strategy.Type = appsv1.RecreateDeploymentStrategyType
		}
	}
	return strategy
}

// EffectiveTerminationGracePeriodSeconds returns how long a pod may take to stop, in seconds: 30 when unset. It may be
// called on nil.
func (d *DeploymentSpec) EffectiveTerminationGracePeriodSeconds() int64 {
	if d == nil {
		return DefaultTerminationGracePeriodSeconds
	}
	return ptr.Deref(d.TerminationGracePeriodSeconds, DefaultTerminationGracePeriodSeconds)
}

// EffectivePreStopSleepSeconds returns how long a stopping pod goes on serving, in seconds: 5 when unset. It may be called
// on nil.
func (d *DeploymentSpec) EffectivePreStopSleepSeconds() int64 {
	if d == nil {
		return DefaultPreStopSleepSeconds
	}
	return ptr.Deref(d.PreStopSleepSeconds, DefaultPreStopSleepSeconds)
}

// EffectiveDrainSeconds returns the drain window, in seconds: what is left of the grace period after the preStop sleep.
// A request that takes longer is cut off when its pod stops. It may be called on nil.
func (d *DeploymentSpec) EffectiveDrainSeconds() int64 {
	return d.EffectiveTerminationGracePeriodSeconds() - d.EffectivePreStopSleepSeconds()
}
