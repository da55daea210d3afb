// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

func TestChildrenAreGivenUpOnlyWhenBothWindowsHaveRunOut(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	for name, c := range map[string]struct {
		cause            clusters.UnavailableCause
		annotated        bool
		deleted, missing int
		now              int
		abandon          bool
	}{
		"deregistered just now":                         {clusters.CauseNotRegistered, false, 0, 0, 0, false},
		"deleted long ago, missing for a moment":        {clusters.CauseNotRegistered, false, -60, 0, 4, false},
		"missing for long, deleted a moment ago":        {clusters.CauseNotRegistered, false, 0, -60, 4, false},
		"both windows have run out":                     {clusters.CauseNotRegistered, false, 0, 0, 5, true},
		"a refused registration is waited for":          {clusters.CauseRefused, false, -600, -600, 0, false},
		"a lost cluster is waited for":                  {clusters.CauseUnreachable, false, -600, -600, 0, false},
		"a namespace that left the registration":        {clusters.CauseNamespaceNotServed, false, -600, -600, 0, false},
		"another cluster behind the name is waited for": {causeAnotherCluster, false, -600, -600, 0, false},
		"the annotation ends it for a lost cluster":     {clusters.CauseUnreachable, true, 0, 0, 0, true},
		"the annotation ends it for a deregistered one": {clusters.CauseNotRegistered, true, 0, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Reconciler{Deps: Deps{AbandonAfter: 5 * time.Minute}, missing: newMissingSince(), now: func() time.Time { return at(c.now) }}
			r.missing.note("edge", at(c.missing))
			deleted := metav1.NewTime(at(c.deleted))
			cr := &v1alpha1.Cinder{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted}}
			cr.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "edge"}
			if c.annotated {
				cr.Annotations = map[string]string{v1alpha1.AnnotationAbandonChildren: "true"}
			}
			v := judge(r.plightOf(&Pass{Cinder: cr}, &clusters.UnavailableError{Cluster: "edge", Cause: c.cause, Message: "why"}))
			if v.release != c.abandon {
				t.Fatalf("abandon is %v (%s)", v.release, v.message)
			}
			if !v.release && (!strings.HasPrefix(v.message, "why; the deletion waits ") || !strings.Contains(v.message, v1alpha1.AnnotationAbandonChildren+"=true")) {
				t.Errorf("message is %q", v.message)
			}
		})
	}
}

func TestARefusedSweepIsSaidAndEndsByAnnotationAlone(t *testing.T) {
	t.Parallel()
	p := plight{err: errors.New("delete Secret a/b: forbidden"), deletedFor: time.Hour, missingFor: time.Hour, window: time.Minute}
	if v := judge(p); v.release || !strings.Contains(v.message, "delete Secret a/b: forbidden") || !strings.Contains(v.message, v1alpha1.AnnotationAbandonChildren+"=true") {
		t.Errorf("verdict is %+v", v)
	}
	p.givenUp = true
	if v := judge(p); !v.release {
		t.Errorf("verdict is %+v", v)
	}
}

func TestANameIsMissingSinceItsFirstFailureAndNotAtAllAfterASuccess(t *testing.T) {
	t.Parallel()
	m := newMissingSince()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	later := start.Add(time.Hour)
	m.note("edge", start)
	m.note("edge", later)
	if got := m.age("edge", later); got != time.Hour {
		t.Errorf("missing for %s", got)
	}
	m.forget("edge")
	if got := m.age("edge", later); got != 0 {
		t.Errorf("missing for %s after a success", got)
	}
}

func TestWhatStaysBehindIsNamedAsFarAsSpecAndStatusKnowIt(t *testing.T) {
	t.Parallel()
	cr := &v1alpha1.Cinder{ObjectMeta: metav1.ObjectMeta{Name: "block", Namespace: "openstack"}}
	plain := strings.Join(childNames(cr, []string{"nfs-b"}), ", ")
	for _, absent := range []string{"volume", "backup", "HTTPRoute", "PodAutoscaler", "NetworkPolicy", "Database", "service-user"} {
		if strings.Contains(plain, absent) {
			t.Errorf("%s is named, which this Cinder never had: %s", absent, plain)
		}
	}
	cr.Spec.Database.ClusterRef = &v1alpha1.ClusterRefSpec{Name: "mariadb"}
	cr.Spec.ServiceUser = &v1alpha1.ServiceUserSpec{}
	cr.Spec.Autoscaling, cr.Spec.Gateway, cr.Spec.NetworkPolicy = &v1alpha1.AutoscalingSpec{}, &v1alpha1.GatewaySpec{}, &v1alpha1.NetworkPolicySpec{}
	cr.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{VerticalAutoscaling: &v1alpha1.VerticalAutoscalingSpec{}}}
	cr.Status.VolumeServices = []v1alpha1.VolumeServiceStatus{{Backend: "nfs"}}
	cr.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionBackupServiceReady, Reason: v1alpha1.ReasonBackupServiceReady}}
	full := strings.Join(childNames(cr, []string{"nfs-b"}), ", ")
	for _, present := range []string{
		"Deployment block-volume-nfs", "Deployment block-backup", "VerticalPodAutoscaler block-scheduler", "HTTPRoute block", "HorizontalPodAutoscaler block", "NetworkPolicy block",
		"Database block", "User block", "Grant block", "Secret block-service-user", "Secret block-backend-nfs", "Secret block-backup-nfs-b", "CronJob block-db-purge",
	} {
		if !strings.Contains(full, present) {
			t.Errorf("%s is not named: %s", present, full)
		}
	}
}

func TestStepErrorsOfALostClusterBecomeOneCondition(t *testing.T) {
	t.Parallel()
	r := &Reconciler{Deps: Deps{Intervals: Intervals{}.withDefaults()}}
	lost := &clusters.UnavailableError{Cause: clusters.CauseUnreachable, Message: `target cluster "edge" is unreachable`}
	p := &Pass{Cinder: &v1alpha1.Cinder{}}
	res, handled := r.onStepError(p, stepScheduler, errors.Join(errors.New("apply Deployment"), lost))
	if !handled || res.RequeueAfter != RequeueSecretPolling {
		t.Errorf("handled is %v, requeue after %s", handled, res.RequeueAfter)
	}
	conds := *p.Conditions()
	if len(conds) != 1 || conds[0].Type != v1alpha1.ConditionSecretsReady || conds[0].Reason != v1alpha1.ReasonTargetClusterUnavailable || conds[0].Message != lost.Message {
		t.Errorf("conditions are %+v", conds)
	}

	// A connection that was swapped under the pass is no loss.
	r.Registry, r.missing, r.now = answering{target: named{uid: "1"}}, newMissingSince(), time.Now
	swapped := &Pass{Cinder: &v1alpha1.Cinder{}, Target: named{uid: "1", connection: 1}}
	if res, handled := r.onStepError(swapped, stepScheduler, lost); !handled || res.RequeueAfter != RequeueNextPass || len(*swapped.Conditions()) != 0 {
		t.Errorf("a swapped connection answers %v, %v, %v", res, handled, *swapped.Conditions())
	}
	same := &Pass{Cinder: &v1alpha1.Cinder{}, Target: named{uid: "1"}}
	if _, handled := r.onStepError(same, stepScheduler, lost); !handled || len(*same.Conditions()) != 1 {
		t.Errorf("the same connection answers %v, %v", handled, *same.Conditions())
	}

	quiet := &Pass{Cinder: &v1alpha1.Cinder{}}
	if res, handled := r.onStepError(quiet, stepScheduler, &clusters.UnavailableError{Cause: clusters.CauseStarting}); !handled || !res.IsZero() || len(*quiet.Conditions()) != 0 {
		t.Errorf("a starting registry answers %v, %v, %v", res, handled, *quiet.Conditions())
	}
	if _, handled := r.onStepError(quiet, stepScheduler, errors.New("some other error")); handled {
		t.Error("any other error is the engine's")
	}
}
