// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testPass carries a PodDisruptionBudget: a built-in kind whose status is a
// list of conditions.
type testPass struct {
	pdb *policyv1.PodDisruptionBudget
	mu  *sync.Mutex
	ran *[]string
}

func newPass() *testPass {
	return &testPass{
		pdb: &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b", Generation: 7}},
		mu:  &sync.Mutex{}, ran: &[]string{},
	}
}

func (p *testPass) Object() client.Object           { return p.pdb }
func (p *testPass) Conditions() *[]metav1.Condition { return &p.pdb.Status.Conditions }
func (p *testPass) Fork() *testPass {
	return &testPass{pdb: p.pdb.DeepCopy(), mu: p.mu, ran: p.ran}
}

func (p *testPass) condition(typ string) metav1.Condition {
	if c := meta.FindStatusCondition(*p.Conditions(), typ); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func step(name string, res ctrl.Result, err error) Step[*testPass] {
	return Step[*testPass]{Name: name, Condition: name + "Ready", Run: func(_ context.Context, p *testPass) (ctrl.Result, error) {
		p.mu.Lock()
		*p.ran = append(*p.ran, name)
		p.mu.Unlock()
		True(p.Conditions(), p.pdb.Generation, name+"Ready", "Fine", name)
		return res, err
	}}
}

func TestTheFirstRequeueEndsTheLaneAndTheGroupDoesNotRun(t *testing.T) {
	e := Engine[*testPass]{
		Sequential: []Step[*testPass]{step("A", ctrl.Result{}, nil), step("B", ctrl.Result{RequeueAfter: time.Second}, nil), step("C", ctrl.Result{}, nil)},
		Parallel:   []Step[*testPass]{step("D", ctrl.Result{}, nil)},
	}
	p := newPass()
	res, err := e.Run(t.Context(), p)
	if err != nil || res.RequeueAfter != time.Second {
		t.Fatalf("got %v, %v", res, err)
	}
	if diff := cmp.Diff([]string{"A", "B"}, *p.ran); diff != "" {
		t.Error(diff)
	}
}

func TestAStepsErrorLeavesItsConditionUnknownAndIsCounted(t *testing.T) {
	m, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("apply Service b/a: refused")
	e := Engine[*testPass]{Metrics: m, Sequential: []Step[*testPass]{step("A", ctrl.Result{}, boom), step("B", ctrl.Result{}, nil)}}
	p := newPass()
	if _, err := e.Run(t.Context(), p); !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	want := metav1.Condition{Type: "AReady", Status: metav1.ConditionUnknown, Reason: ReasonReconcileError, Message: boom.Error(), ObservedGeneration: 7}
	if diff := cmp.Diff(want, p.condition("AReady")); diff != "" {
		t.Error(diff)
	}
	if got := testutil.ToFloat64(m.errors.WithLabelValues("A", "AReady")); got != 1 {
		t.Errorf("errors counted: %v", got)
	}
	if n := testutil.CollectAndCount(m.duration); n != 1 {
		t.Errorf("series of durations: %d, want one for the one step that ran", n)
	}
}

func TestAHandledErrorTouchesNoConditionOfItsStep(t *testing.T) {
	lost := errors.New("lost")
	e := Engine[*testPass]{
		Sequential: []Step[*testPass]{{Name: "A", Condition: "AReady", Run: func(context.Context, *testPass) (ctrl.Result, error) { return ctrl.Result{}, lost }}},
		OnError: func(p *testPass, name string, err error) (ctrl.Result, bool) {
			False(p.Conditions(), 7, "Reachable", "No", name+": "+err.Error())
			return ctrl.Result{RequeueAfter: 15 * time.Second}, errors.Is(err, lost)
		},
	}
	p := newPass()
	True(p.Conditions(), 6, "AReady", "Fine", "as last seen")
	res, err := e.Run(t.Context(), p)
	if err != nil || res.RequeueAfter != 15*time.Second {
		t.Fatalf("got %v, %v", res, err)
	}
	if c := p.condition("AReady"); c.Status != metav1.ConditionTrue || c.ObservedGeneration != 6 {
		t.Errorf("the step's condition moved: %+v", c)
	}
	if c := p.condition("Reachable"); c.Message != "A: lost" {
		t.Errorf("got %+v", c)
	}
}

func TestEveryMemberOfTheGroupRunsAndSetsItsOwnConditionOnly(t *testing.T) {
	boom := errors.New("boom")
	meddler := step("B", ctrl.Result{RequeueAfter: time.Minute}, nil)
	run := meddler.Run
	meddler.Run = func(ctx context.Context, p *testPass) (ctrl.Result, error) {
		False(p.Conditions(), 7, "AReady", "Meddled", "")
		p.pdb.Status.CurrentHealthy = 99
		return run(ctx, p)
	}
	e := Engine[*testPass]{Parallel: []Step[*testPass]{
		step("A", ctrl.Result{RequeueAfter: time.Hour}, nil), meddler, step("C", ctrl.Result{}, boom),
	}}
	p := newPass()
	res, err := e.Run(t.Context(), p)
	if !errors.Is(err, boom) || !res.IsZero() {
		t.Fatalf("got %v, %v; want the error alone", res, err)
	}
	if len(*p.ran) != 3 {
		t.Errorf("ran %v", *p.ran)
	}
	if p.condition("AReady").Reason != "Fine" || p.pdb.Status.CurrentHealthy != 0 {
		t.Errorf("one member wrote what belongs to another: %+v", p.pdb.Status)
	}
	if c := p.condition("CReady"); c.Reason != ReasonReconcileError || c.Message != "boom" {
		t.Errorf("got %+v", c)
	}
}

func TestTheGroupComesBackAtItsEarliestRequeue(t *testing.T) {
	for _, after := range [][3]time.Duration{{time.Hour, time.Minute, 0}, {time.Minute, 0, time.Hour}, {0, time.Hour, time.Minute}} {
		e := Engine[*testPass]{}
		for i, d := range after {
			e.Parallel = append(e.Parallel, step(string(rune('A'+i)), ctrl.Result{RequeueAfter: d}, nil))
		}
		if res, err := e.Run(t.Context(), newPass()); err != nil || res.RequeueAfter != time.Minute {
			t.Errorf("requeues %v make %v, %v; want a minute", after, res, err)
		}
	}
}

func TestAPanicInAMemberOfTheGroupIsAnErrorOfThatMember(t *testing.T) {
	e := Engine[*testPass]{Parallel: []Step[*testPass]{
		{Name: "A", Condition: "AReady", Run: func(context.Context, *testPass) (ctrl.Result, error) { panic("nil map") }},
		step("B", ctrl.Result{}, nil),
	}}
	p := newPass()
	_, err := e.Run(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "nil map") {
		t.Fatalf("got %v", err)
	}
	if c := p.condition("AReady"); c.Status != metav1.ConditionUnknown {
		t.Errorf("got %+v", c)
	}
	if p.condition("BReady").Status != metav1.ConditionTrue {
		t.Error("the other member did not finish")
	}
}

func TestReadyIsTrueExactlyWhenEveryRequiredTypeIs(t *testing.T) {
	for name, tc := range map[string]struct {
		have    map[string]metav1.ConditionStatus
		status  metav1.ConditionStatus
		message string
	}{
		"all True":                         {map[string]metav1.ConditionStatus{"A": "True", "B": "True"}, "True", "every condition is True"},
		"one False":                        {map[string]metav1.ConditionStatus{"A": "True", "B": "False"}, "False", "not True: B (R)"},
		"one Unknown":                      {map[string]metav1.ConditionStatus{"A": "Unknown", "B": "True"}, "False", "not True: A (R)"},
		"one missing":                      {map[string]metav1.ConditionStatus{"B": "True"}, "False", "not True: A (Pending)"},
		"another type outside the set":     {map[string]metav1.ConditionStatus{"A": "True", "B": "True", "Extra": "False"}, "True", "every condition is True"},
		"several, in the order of the set": {map[string]metav1.ConditionStatus{"B": "False", "A": "False"}, "False", "not True: A (R), B (R)"},
	} {
		t.Run(name, func(t *testing.T) {
			var conds []metav1.Condition
			for typ, st := range tc.have {
				SetCondition(&conds, 1, typ, st, "R", "")
			}
			Aggregate(&conds, 3, "Ready", []string{"A", "B"}, "AllReady", "NotAllReady")
			got := meta.FindStatusCondition(conds, "Ready")
			if got.Status != tc.status || got.Message != tc.message || got.ObservedGeneration != 3 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestPendingLeavesWhatWasSeenAlone(t *testing.T) {
	var conds []metav1.Condition
	False(&conds, 1, "A", "Broken", "as last seen")
	Pending(&conds, 2, "A", "B")
	if conds[0].Reason != "Broken" || conds[1].Reason != ReasonPending || conds[1].Status != metav1.ConditionUnknown {
		t.Errorf("got %+v", conds)
	}
}
