// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Trace is what the operator left of a life in the audit logs and among the events.
type Trace struct {
	// Made counts creations of objects and Touched lists the writes of each, by
	// "cluster resource namespace/name".
	Made    map[string]int
	Touched map[string][]string
	// Told counts events, by "kind name reason: note".
	Told map[string]int
}

// TraceOf reads what happened since the marks, in one namespace or, without one,
// in all; events are those on the objects.
func (l *Lab) TraceOf(t testing.TB, namespace string, since []Mark, objs ...client.Object) Trace {
	t.Helper()
	tr := Trace{Made: map[string]int{}, Touched: map[string][]string{}, Told: map[string]int{}}
	for _, m := range since {
		for _, r := range m.Writes(t) {
			if r.ObjectRef.Resource == "events" || r.ResponseStatus.Code >= 300 || namespace != "" && r.ObjectRef.Namespace != namespace {
				continue
			}
			what := fmt.Sprintf("%s %s %s/%s", m.cluster.Name, r.ObjectRef.Resource, r.ObjectRef.Namespace, r.ObjectRef.Name)
			tr.Touched[what] = append(tr.Touched[what], fmt.Sprintf("%s %s %d", r.StageTimestamp, r.Verb, r.ResponseStatus.Code))
			if r.ResponseStatus.Code == 201 {
				tr.Made[what]++
			}
		}
	}
	for _, obj := range objs {
		told, err := l.Hub.Told(t.Context(), obj.GetNamespace(), obj.GetUID())
		if err != nil {
			t.Fatal(err)
		}
		for what, times := range told {
			tr.Told[fmt.Sprintf("%T %s %s", obj, obj.GetName(), what)] = times
		}
	}
	return tr
}

// Check compares a life with kills with one without.
func (tr Trace) Check(t testing.TB, want Trace) {
	t.Helper()
	for what, times := range tr.Made {
		if times > want.Made[what] {
			t.Errorf("%s was made %d times, without kills %d times; its writes: %q", what, times, want.Made[what], tr.Touched[what])
		}
	}
	for what, writes := range tr.Touched {
		// The mirror of a registration is written on losses and returns alone.
		if want.Touched[what] == nil && !strings.Contains(what, "targetclusters") {
			t.Errorf("%s was written, without kills it was not: %q", what, writes)
		}
	}
	for what, times := range want.Made {
		// An intent that no Job was run for would pass for one that was met.
		if strings.Contains(what, " jobs ") && tr.Made[what] < times {
			t.Errorf("%s was made %d times, without kills %d times; its writes: %q", what, tr.Made[what], times, tr.Touched[what])
		}
	}
	for what, times := range tr.Told {
		if times > max(1, want.Told[what]) {
			t.Errorf("told %d times, without kills %d times: %s", times, want.Told[what], what)
		}
	}
}
