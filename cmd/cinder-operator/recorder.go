// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

// noteRecorder records through the recorder whose notion of "the same event"
// includes the text. The newer one counts events that differ in their note alone
// as one series and keeps the first note: a second cause would never be read.
type noteRecorder struct{ record.EventRecorder }

var _ events.EventRecorder = noteRecorder{}

// Eventf is part of events.EventRecorder.
func (r noteRecorder) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	r.Event(regarding, kind, reason, fmt.Sprintf(note, args...))
}
