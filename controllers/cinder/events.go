// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// The reasons of the events on a Cinder.
const (
	EventDatabaseSynced              = "DatabaseSynced"
	EventDBSyncFailed                = "DBSyncFailed"
	EventDBPurgeJobFailed            = "DBPurgeJobFailed"
	EventFinalizingDatabase          = "FinalizingDatabase"
	EventDatabaseFinalized           = "DatabaseFinalized"
	EventRemoteChildrenAbandoned     = "RemoteChildrenAbandoned"
	EventCinderBackendSkipped        = "CinderBackendSkipped"
	EventCinderBackupBackendSkipped  = "CinderBackupBackendSkipped"
	EventCephKeyringConflict         = "CephKeyringConflict"
	EventSharedExportOptionsIgnored  = "SharedExportMountOptionsIgnored"
	EventExtraConfigOwnedKeyOverride = "ExtraConfigOwnedKeyOverride"
	EventUpgradeInitiated            = "UpgradeInitiated"
	EventExpandComplete              = "ExpandComplete"
	EventMigrateComplete             = "MigrateComplete"
	EventUpgradeCheckCompleted       = "UpgradeCheckCompleted"
	EventUpgradeCheckWarnings        = "UpgradeCheckWarnings"
	EventDeploymentRolloutComplete   = "DeploymentRolloutComplete"
	EventUpgradeComplete             = "UpgradeComplete"
	EventUpgradeAborted              = "UpgradeAborted"
	EventSharedBrokerVhost           = "SharedBrokerVhost"
	eventSuffixEmissionDeferred      = "EmissionDeferred"
	eventAction                      = "Reconcile"
	maxNote                          = 1000
)

// eventBuffer collects the events of one pass. They are given once the pass's
// status is stored: a pass whose write is refused is run again and would give
// them twice.
type eventBuffer struct {
	mu   sync.Mutex
	list []bufferedEvent
}

type bufferedEvent struct {
	kind, reason, note string
	// related is what else the event is about; it may be nil. Events of one reason
	// about the same objects become one, with the first one's note.
	related *corev1.ObjectReference
	// given is called once the event was given; it may be nil.
	given func()
}

func (b *eventBuffer) add(e bufferedEvent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, e)
}

func (b *eventBuffer) flush(recorder events.EventRecorder, on runtime.Object) {
	b.mu.Lock()
	list := b.list
	b.list = nil
	b.mu.Unlock()
	for _, e := range list {
		recordAbout(recorder, on, e.related, e.kind, e.reason, e.note)
		if e.given != nil {
			e.given()
		}
	}
}

func record(recorder events.EventRecorder, on runtime.Object, kind, reason, note string) {
	recordAbout(recorder, on, nil, kind, reason, note)
}

func recordAbout(recorder events.EventRecorder, on runtime.Object, related *corev1.ObjectReference, kind, reason, note string) {
	var about runtime.Object
	if related != nil {
		about = related
	}
	recorder.Eventf(on, about, kind, reason, eventAction, "%s", cutNote(note))
}

// satellite refers to one of the Cinder's satellites.
func (p *Pass) satellite(kind, name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: p.Cinder.Namespace, Name: name}
}

// tellNow gives an event that is remembered elsewhere: held back until the
// status is stored, it would be lost with a write that is refused.
func (r *Reconciler) tellNow(p *Pass, kind, reason, format string, args ...any) {
	record(r.Recorder, p.Cinder, kind, reason, fmt.Sprintf(format, args...))
}

func (p *Pass) warning(reason, note string) {
	p.events.add(bufferedEvent{kind: corev1.EventTypeWarning, reason: reason, note: note})
}

func (p *Pass) normal(reason, note string) {
	p.events.add(bufferedEvent{kind: corev1.EventTypeNormal, reason: reason, note: note})
}

// changed tells whether a condition differs from what the pass found: only then
// is there something to tell in an event.
func (p *Pass) changed(typ string) bool {
	was, is := meta.FindStatusCondition(p.stored, typ), meta.FindStatusCondition(*p.Conditions(), typ)
	if was == nil || is == nil {
		return is != nil
	}
	return !sameAnswer(*was, *is)
}

func sameAnswer(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

// cutNote keeps a note within what the events API admits.
func cutNote(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-3], "") + "..."
}

// listNote joins items to a note and says how many did not fit.
func listNote(prefix string, items []string) string {
	note := prefix
	for i, item := range items {
		sep := ", "
		if i == 0 {
			sep = " "
		}
		rest := fmt.Sprintf(" and %d more", len(items)-i)
		if len(note)+len(sep)+len(item)+len(rest) > maxNote {
			return note + rest
		}
		note += sep + item
	}
	return note
}
