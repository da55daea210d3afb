// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
)

// everywhere returns a spec whose four services carry one block.
func everywhere(d *DeploymentSpec) CinderSpec {
	return CinderSpec{
		API: &APISpec{Deployment: d}, Scheduler: &SchedulerSpec{Deployment: d}, Volume: &VolumeSpec{Deployment: d}, Backup: &BackupSpec{Deployment: d},
	}
}

func TestUnsetReplicasAreThreeForTheAPIAndOneElsewhere(t *testing.T) {
	for _, spec := range []CinderSpec{{}, everywhere(nil), everywhere(&DeploymentSpec{})} {
		for component, want := range map[Component]int32{ComponentAPI: 3, ComponentScheduler: 1, ComponentVolume: 1, ComponentBackup: 1, ComponentJob: 1} {
			if got := spec.EffectiveReplicas(component); got != want {
				t.Errorf("%s has %d replicas, want %d", component, got, want)
			}
		}
	}
}

func TestReplicasOfTheSpecCount(t *testing.T) {
	spec := CinderSpec{API: &APISpec{Deployment: &DeploymentSpec{Replicas: ptr.To[int32](5)}}}
	if got := spec.EffectiveReplicas(ComponentAPI); got != 5 {
		t.Errorf("the API has %d replicas, want 5", got)
	}
	if got := spec.EffectiveReplicas(ComponentScheduler); got != 1 {
		t.Errorf("the scheduler has %d replicas, want 1: the block is the API's", got)
	}
}

func TestEffectiveAPIReplicaBounds(t *testing.T) {
	replicas := func(n int32) *APISpec { return &APISpec{Deployment: &DeploymentSpec{Replicas: &n}} }
	for _, test := range []struct {
		name           string
		spec           CinderSpec
		least, largest int32
	}{
		{"without autoscaling both are the replicas", CinderSpec{API: replicas(4)}, 4, 4},
		{"without anything both are 3", CinderSpec{}, 3, 3},
		{"an explicit minimum counts", CinderSpec{API: replicas(4), Autoscaling: &AutoscalingSpec{MinReplicas: ptr.To[int32](2), MaxReplicas: 9}}, 2, 9},
		{"an unset minimum is the replicas", CinderSpec{API: replicas(4), Autoscaling: &AutoscalingSpec{MaxReplicas: 9}}, 4, 9},
		{"an unset minimum never exceeds the maximum", CinderSpec{Autoscaling: &AutoscalingSpec{MaxReplicas: 2}}, 2, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			if least, largest := test.spec.EffectiveAPIReplicaBounds(); least != test.least || largest != test.largest {
				t.Errorf("the bounds are %d and %d, want %d and %d", least, largest, test.least, test.largest)
			}
		})
	}
}

func TestUnsetStrategyIsRecreateWhereAHostIdentityIsOwned(t *testing.T) {
	for _, spec := range []CinderSpec{{}, everywhere(&DeploymentSpec{Strategy: &appsv1.DeploymentStrategy{}})} {
		for component, want := range map[Component]appsv1.DeploymentStrategyType{
			ComponentAPI: appsv1.RollingUpdateDeploymentStrategyType, ComponentScheduler: appsv1.RollingUpdateDeploymentStrategyType,
			ComponentVolume: appsv1.RecreateDeploymentStrategyType, ComponentBackup: appsv1.RecreateDeploymentStrategyType,
		} {
			if got := spec.EffectiveStrategy(component); got.Type != want || got.RollingUpdate != nil {
				t.Errorf("%s is replaced by %+v, want %s alone", component, got, want)
			}
		}
	}
}

func TestStrategyOfTheSpecCounts(t *testing.T) {
	spec := everywhere(&DeploymentSpec{Strategy: &appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}})
	if got := spec.EffectiveStrategy(ComponentAPI); got.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("the API is replaced by %+v, want Recreate", got)
	}
}

func TestStopTimesOfABlock(t *testing.T) {
	for _, test := range []struct {
		name                  string
		block                 *DeploymentSpec
		grace, preStop, drain int64
	}{
		{"no block", nil, 30, 5, 25},
		{"an empty block", &DeploymentSpec{}, 30, 5, 25},
		{"a grace period", &DeploymentSpec{TerminationGracePeriodSeconds: ptr.To[int64](60)}, 60, 5, 55},
		{"no sleep", &DeploymentSpec{PreStopSleepSeconds: ptr.To[int64](0)}, 30, 0, 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			grace, preStop, drain := test.block.EffectiveTerminationGracePeriodSeconds(), test.block.EffectivePreStopSleepSeconds(), test.block.EffectiveDrainSeconds()
			if grace != test.grace || preStop != test.preStop || drain != test.drain {
				t.Errorf("grace %d, sleep %d, drain %d; want %d, %d, %d", grace, preStop, drain, test.grace, test.preStop, test.drain)
			}
		})
	}
}
