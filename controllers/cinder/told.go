// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// lasting is a fault that stays from pass to pass: the reason under which it is
// told, and what it is of where a Cinder can have several.
type lasting struct{ reason, subject string }

// toldFaults remembers the warning that was last given of each lasting fault. The
// condition that tells of the fault is no such memory for as long as the process
// runs: something unrelated takes its place for a while, and the fault would be
// told anew once it is back.
type toldFaults struct {
	mu      sync.Mutex // guards the field below
	cinders map[types.NamespacedName]toldOf
}

// toldOf is what was told of one Cinder; one made anew under the same name starts
// afresh.
type toldOf struct {
	uid   types.UID
	notes map[lasting]string
}

func newToldFaults() *toldFaults {
	return &toldFaults{cinders: map[types.NamespacedName]toldOf{}}
}

// last is the note that was last given of a fault, and whether there was one.
func (t *toldFaults) last(cr *v1alpha1.Cinder, f lasting) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	note, ok := t.of(cr)[f]
	return note, ok
}

func (t *toldFaults) remember(cr *v1alpha1.Cinder, f lasting, note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	notes := t.of(cr)
	if notes == nil {
		notes = map[lasting]string{}
		t.cinders[client.ObjectKeyFromObject(cr)] = toldOf{uid: cr.UID, notes: notes}
	}
	notes[f] = note
}

// subjects are those of the faults that were told under a reason.
func (t *toldFaults) subjects(cr *v1alpha1.Cinder, reason string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for f := range t.of(cr) {
		if f.reason == reason {
			out = append(out, f.subject)
		}
	}
	return out
}

// over forgets a fault that is gone: should it come back, it is told again.
func (t *toldFaults) over(cr *v1alpha1.Cinder, f lasting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	notes := t.of(cr)
	delete(notes, f)
	if len(notes) == 0 {
		delete(t.cinders, client.ObjectKeyFromObject(cr))
	}
}

// forget drops everything that was told of a Cinder.
func (t *toldFaults) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.cinders, key)
}

// of is asked with the lock held.
func (t *toldFaults) of(cr *v1alpha1.Cinder) map[lasting]string {
	if was := t.cinders[client.ObjectKeyFromObject(cr)]; was.uid == cr.UID {
		return was.notes
	}
	return nil
}

// warnOnce warns of a lasting fault, unless that note was the last one given of
// it. Where this process gave none, stored tells whether the condition, as the
// pass found it, has the note: an earlier process gave it then. related is the
// satellite whose fault it is, or nil.
func (r *Reconciler) warnOnce(p *Pass, f lasting, related *corev1.ObjectReference, note string, stored bool) {
	was, told := r.told.last(p.Cinder, f)
	switch {
	case told && was == note:
	case !told && stored:
		r.told.remember(p.Cinder, f, note)
	default:
		// A pass whose status is refused gives no event, so that there is nothing
		// to remember of it.
		p.events.add(bufferedEvent{corev1.EventTypeWarning, f.reason, note, related, func() { r.told.remember(p.Cinder, f, note) }})
	}
}

// settle forgets the faults of a reason that do not stand any more.
func (r *Reconciler) settle(p *Pass, reason string, stands func(subject string) bool) {
	for _, subject := range r.told.subjects(p.Cinder, reason) {
		if !stands(subject) {
			r.told.over(p.Cinder, lasting{reason, subject})
		}
	}
}

// settling is a step that tells of satellites it skips. What it does not skip any
// more is settled after it, but for one whose credentials could not be read: a
// failed read is no answer.
func (r *Reconciler) settling(event string, run stepFunc, unread func(context.Context, *Pass, string) (bool, error)) stepFunc {
	return func(ctx context.Context, p *Pass) (ctrl.Result, error) {
		res, err := run(ctx, p)
		if err != nil {
			return res, err
		}
		for _, name := range r.told.subjects(p.Cinder, event) {
			f := lasting{event, name}
			if p.skipped[f] {
				continue
			}
			switch waits, err := unread(ctx, p, name); {
			case err != nil:
				return ctrl.Result{}, err
			case !waits:
				r.told.over(p.Cinder, f)
			}
		}
		return res, nil
	}
}

// stepFunc is what a step runs.
type stepFunc = func(context.Context, *Pass) (ctrl.Result, error)

func (r *Reconciler) unreadBackend(ctx context.Context, p *Pass, name string) (bool, error) {
	b := &v1alpha1.CinderBackend{}
	return r.unread(ctx, p, v1alpha1.KindCinderBackend, name, b, &b.Status.Conditions)
}

func (r *Reconciler) unreadBackupBackend(ctx context.Context, p *Pass, name string) (bool, error) {
	b := &v1alpha1.CinderBackupBackend{}
	return r.unread(ctx, p, v1alpha1.KindCinderBackupBackend, name, b, &b.Status.Conditions)
}

// unread tells whether a satellite is there to stay while nobody knows its
// credentials. Its Cinder cannot have changed.
func (r *Reconciler) unread(ctx context.Context, p *Pass, kind, name string, obj client.Object, conds *[]metav1.Condition) (bool, error) {
	key := types.NamespacedName{Namespace: p.Cinder.Namespace, Name: name}
	if err := r.hub.Get(ctx, key, obj); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("get %s %s: %w", kind, key, err)
	}
	state, _ := credentialsOf(*conds)
	return obj.GetDeletionTimestamp().IsZero() && state == credentialsUnknown, nil
}
