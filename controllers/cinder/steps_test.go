// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"slices"
	"testing"
	"time"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/controllers/pipeline"
)

func TestStepsRunInTheOrderAndUnderTheConditionsOfTheContract(t *testing.T) {
	t.Parallel()
	r := &Reconciler{}
	e := r.engine(nil)
	type row struct{ name, condition string }
	rows := func(steps []pipeline.Step[*Pass]) (out []row) {
		for _, s := range steps {
			if s.Run == nil {
				t.Errorf("step %s runs nothing", s.Name)
			}
			out = append(out, row{s.Name, s.Condition})
		}
		return out
	}
	sequential := []row{
		{"Secrets", "SecretsReady"}, {"DBConnectionSecret", "SecretsReady"}, {"TransportURLSecret", "SecretsReady"},
		{"Backends", "BackendsReady"}, {"BackupBackend", "BackupBackendReady"}, {"Config", "SecretsReady"},
		{"Database", "DatabaseReady"}, {"Scheduler", "SchedulerReady"}, {"VolumeServices", "VolumeServicesReady"},
		{"BackupService", "BackupServiceReady"}, {"Deployment", "DeploymentReady"}, {"DBPurge", "DBPurgeReady"},
	}
	parallel := []row{
		{"HTTPRoute", "HTTPRouteReady"}, {"HealthCheck", "CinderAPIReady"}, {"HPA", "HPAReady"},
		{"VPA", "VPAReady"}, {"NetworkPolicy", "NetworkPolicyReady"},
	}
	if got := rows(e.Sequential); !slices.Equal(got, sequential) {
		t.Errorf("the sequential steps are %v", got)
	}
	if got := rows(e.Parallel); !slices.Equal(got, parallel) {
		t.Errorf("the parallel steps are %v", got)
	}
	var conditions []string
	for _, s := range append(sequential, parallel...) {
		if !slices.Contains(conditions, s.condition) {
			conditions = append(conditions, s.condition)
		}
	}
	required := v1alpha1.CinderSubConditions()
	slices.Sort(conditions)
	slices.Sort(required)
	if len(required) != 14 || !slices.Equal(conditions, required) {
		t.Errorf("the steps report %v, the aggregate wants %v", conditions, required)
	}
}

func TestIntervalsFallBackToTheConstants(t *testing.T) {
	t.Parallel()
	want := Intervals{
		NextPass: time.Second, DeploymentPolling: 10 * time.Second, SecretPolling: 15 * time.Second, DatabaseWait: 30 * time.Second,
		UpgradeWait: 30 * time.Second, HealthCheck: 10 * time.Second, HealthCheckTTL: 30 * time.Second,
	}
	if got := (Intervals{}).withDefaults(); got != want {
		t.Errorf("defaults are %+v", got)
	}
	if got := (Intervals{NextPass: time.Hour}).withDefaults().NextPass; got != time.Hour {
		t.Errorf("a given interval became %s", got)
	}
}

func TestAForkSharesNothingThatAMemberMayChange(t *testing.T) {
	t.Parallel()
	p := &Pass{Cinder: &v1alpha1.Cinder{}, events: &eventBuffer{}}
	p.setTrue(v1alpha1.ConditionHPAReady, v1alpha1.ReasonHPAReady, "before")
	fork := p.Fork()
	fork.setFalse(v1alpha1.ConditionHPAReady, v1alpha1.ReasonReconcileError, "after")
	fork.Cinder.Status.Endpoint = "changed"
	if got := conditionReason(*p.Conditions(), v1alpha1.ConditionHPAReady); got != v1alpha1.ReasonHPAReady || p.Cinder.Status.Endpoint != "" {
		t.Errorf("the fork changed the pass: %s, %q", got, p.Cinder.Status.Endpoint)
	}
}
