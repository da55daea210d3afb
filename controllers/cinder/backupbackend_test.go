// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func credentials(status metav1.ConditionStatus, reason string) []metav1.Condition {
	return []metav1.Condition{{Type: v1alpha1.ConditionCredentialsReady, Status: status, Reason: reason}}
}

func TestCredentialsOfTellsThreeAnswersApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		conds []metav1.Condition
		want  credentialState
	}{
		"never looked at":                         {nil, credentialsUnknown},
		"ready":                                   {credentials(metav1.ConditionTrue, v1alpha1.ReasonCredentialsNotRequired), credentialsReady},
		"read and missing":                        {credentials(metav1.ConditionFalse, v1alpha1.ReasonWaitingForCredentials), credentialsWaiting},
		"the cluster could not be reached":        {credentials(metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable), credentialsUnknown},
		"the parent was not there":                {credentials(metav1.ConditionFalse, v1alpha1.ReasonWaitingForParent), credentialsUnknown},
		"the satellite's own pass ended in error": {credentials(metav1.ConditionUnknown, v1alpha1.ReasonReconcileError), credentialsUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, _ := credentialsOf(c.conds); got != c.want {
				t.Errorf("state is %d, want %d", got, c.want)
			}
		})
	}
}

func TestTheBackupTargetIsTheOnlyReadyOne(t *testing.T) {
	t.Parallel()
	target := func(name string, conds []metav1.Condition, typ v1alpha1.CinderBackupBackendType) v1alpha1.CinderBackupBackend {
		return v1alpha1.CinderBackupBackend{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1alpha1.CinderBackupBackendSpec{Type: typ},
			Status:     v1alpha1.CinderBackupBackendStatus{Conditions: conds},
		}
	}
	ready := credentials(metav1.ConditionTrue, v1alpha1.ReasonCredentialsNotRequired)
	waiting := credentials(metav1.ConditionFalse, v1alpha1.ReasonWaitingForCredentials)
	nfs, rbd := v1alpha1.CinderBackupBackendTypeNFS, v1alpha1.CinderBackupBackendTypeRBD
	for name, c := range map[string]struct {
		targets []v1alpha1.CinderBackupBackend
		reason  string
		status  metav1.ConditionStatus
		chosen  string
	}{
		"none is attached":                       {nil, v1alpha1.ReasonNoBackupBackend, metav1.ConditionTrue, ""},
		"one is ready":                           {[]v1alpha1.CinderBackupBackend{target("a", ready, nfs)}, v1alpha1.ReasonBackupBackendProjected, metav1.ConditionTrue, "a"},
		"one is ready whatever the other awaits": {[]v1alpha1.CinderBackupBackend{target("a", waiting, nfs), target("b", ready, nfs)}, v1alpha1.ReasonBackupBackendProjected, metav1.ConditionTrue, "b"},
		"one waits":                              {[]v1alpha1.CinderBackupBackend{target("a", waiting, nfs)}, v1alpha1.ReasonWaitingForBackupBackend, metav1.ConditionFalse, ""},
		"one was never looked at":                {[]v1alpha1.CinderBackupBackend{target("a", nil, nfs)}, v1alpha1.ReasonWaitingForBackupBackend, metav1.ConditionFalse, ""},
		"two are ready":                          {[]v1alpha1.CinderBackupBackend{target("a", ready, nfs), target("b", ready, nfs)}, v1alpha1.ReasonMultipleBackupBackends, metav1.ConditionFalse, ""},
		"one of Ceph is ready":                   {[]v1alpha1.CinderBackupBackend{target("a", ready, rbd)}, v1alpha1.ReasonBackupBackendProjected, metav1.ConditionTrue, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			choice := chooseBackupTarget(c.targets)
			if got := choice.target; (got == nil) != (c.chosen == "") || got != nil && got.Name != c.chosen {
				t.Errorf("chosen is %v, want %q", got, c.chosen)
			}
			p := &Pass{Cinder: &v1alpha1.Cinder{}}
			(&Reconciler{}).reportBackupBackend(p, choice, "")
			i := slices.IndexFunc(*p.Conditions(), func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionBackupBackendReady })
			if got := (*p.Conditions())[i]; got.Reason != c.reason || got.Status != c.status {
				t.Errorf("condition is %s/%s, want %s/%s", got.Status, got.Reason, c.status, c.reason)
			}
		})
	}
}

func TestARevisionIsNotMistakenForOneOfALongerBase(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"c-backend-a-0123abcdef": true, "c-backend-a-b-0123abcdef": false, "c-backend-a": false, "c-backend-a-": false, "": false,
	} {
		if got := isRevision(name, "c-backend-a"); got != want {
			t.Errorf("isRevision(%q) is %v", name, got)
		}
	}
}
