// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

// Reasons of the events on registrations.
const (
	eventConnected    = "ClusterConnected"
	eventUnreachable  = "ClusterUnreachable"
	eventRefused      = "ClusterRefused"
	eventDisconnected = "ClusterDisconnected"
)

// noteLimit is what a note is cut to; the API refuses one over 1,024 bytes.
const noteLimit = 1000

// recorder records events on registrations; without a recorder underneath it drops them.
type recorder struct{ events.EventRecorder }

// eventf records an event. The API counts events that differ in their note alone as one, and keeps the first note: about
// says what the event is about in a word, and keeps two faults apart.
func (r recorder) eventf(on corev1.ObjectReference, kind, reason, about, format string, args ...any) {
	if r.EventRecorder == nil {
		return
	}
	note := fmt.Sprintf(format, args...)
	if len(note) > noteLimit {
		note = note[:noteLimit]
	}
	r.Eventf(&on, nil, kind, reason, about, "%s", note)
}
