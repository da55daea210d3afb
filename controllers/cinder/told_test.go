// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func madeAs(uid string) *v1alpha1.Cinder {
	return &v1alpha1.Cinder{ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "cinder", UID: types.UID(uid)}}
}

func TestALastingFaultIsToldOnceForEachNote(t *testing.T) {
	t.Parallel()
	const reason, one, other = "CinderBackendSkipped", "rbd-a", "rbd-b"
	// pass is one over a Cinder that has the fault.
	type pass struct {
		note string
		// says: the stored condition has the note. refused: the status of the pass.
		says, refused bool
		// gone: the fault was, since the last pass. anew: the Cinder was made.
		gone, anew bool
		told       bool
	}
	for name, passes := range map[string][]pass{
		"whatever the condition says meanwhile": {
			{note: "a", told: true}, {note: "a", says: true}, {note: "a"},
		},
		"nothing is lost with a status that is refused": {
			{note: "a", refused: true}, {note: "a", told: true}, {note: "a"},
		},
		"a changed note, and the former one after it": {
			{note: "a", told: true}, {note: "b", told: true}, {note: "b"}, {note: "a", told: true},
		},
		"an earlier process told it": {
			{note: "a", says: true}, {note: "a"}, {note: "b", told: true},
		},
		"a fault that comes back": {
			{note: "a", told: true}, {note: "a", gone: true, told: true},
		},
		"a Cinder made anew": {
			{note: "a", told: true}, {note: "a", anew: true, told: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := events.NewFakeRecorder(10)
			r, cr := &Reconciler{Deps: Deps{Recorder: recorder}, told: newToldFaults()}, madeAs("first")
			r.told.remember(cr, lasting{reason, other}, "another fault")
			for i, pass := range passes {
				if pass.gone {
					r.settle(&Pass{Cinder: cr}, reason, func(subject string) bool { return subject == other })
				}
				if pass.anew {
					cr = madeAs("second")
				}
				p := &Pass{Cinder: cr, events: &eventBuffer{}}
				r.warnOnce(p, lasting{reason, one}, nil, pass.note, pass.says)
				if !pass.refused {
					p.events.flush(recorder, cr)
				}
				got := ""
				if len(recorder.Events) > 0 {
					got = <-recorder.Events
				}
				want := ""
				if pass.told {
					want = "Warning " + reason + " " + pass.note
				}
				if got != want {
					t.Errorf("pass %d told %q, want %q", i+1, got, want)
				}
			}
			if _, ok := r.told.last(cr, lasting{reason, other}); ok != (cr.UID == "first") {
				t.Errorf("the other fault is remembered: %t", ok)
			}
		})
	}
}

func TestNothingIsRememberedOfACinderThatIsGone(t *testing.T) {
	t.Parallel()
	r := &Reconciler{told: newToldFaults()}
	var wg sync.WaitGroup
	for i := range 10 {
		cr := madeAs(fmt.Sprint(i))
		cr.Name = fmt.Sprintf("cinder-%d", i)
		wg.Go(func() {
			for n := range 50 {
				f := lasting{"CinderBackendSkipped", fmt.Sprint(n)}
				r.told.remember(cr, f, "note")
				if _, ok := r.told.last(cr, f); !ok {
					t.Errorf("%v is not remembered", f)
				}
			}
			if i%2 == 0 {
				r.told.forget(client.ObjectKeyFromObject(cr))
				return
			}
			for _, subject := range r.told.subjects(cr, "CinderBackendSkipped") {
				r.told.over(cr, lasting{"CinderBackendSkipped", subject})
			}
		})
	}
	wg.Wait()
	if n := len(r.told.cinders); n != 0 {
		t.Errorf("%d Cinders are remembered", n)
	}
}
