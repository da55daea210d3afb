// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestSchemeKnowsEveryKindAndItsList(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{KindCinder, KindCinderBackend, KindCinderBackupBackend, KindTargetCluster} {
		for _, name := range []string{kind, kind + "List"} {
			if !scheme.Recognizes(GroupVersion.WithKind(name)) {
				t.Errorf("the scheme does not know %s", name)
			}
		}
	}
}

func TestReadyOfACinderIsTheAggregateOfFourteenConditions(t *testing.T) {
	conditions := CinderSubConditions()
	distinct := slices.Compact(slices.Sorted(slices.Values(conditions)))
	if len(conditions) != 14 || len(distinct) != 14 {
		t.Errorf("Ready is the aggregate of %d conditions, %d of them distinct, want 14", len(conditions), len(distinct))
	}
	for _, outside := range []string{ConditionReady, ConditionExtraConfigHealthy} {
		if slices.Contains(conditions, outside) {
			t.Errorf("%s counts for Ready", outside)
		}
	}
	conditions[0] = "changed"
	if CinderSubConditions()[0] != ConditionSecretsReady {
		t.Error("callers share the slice")
	}
}
