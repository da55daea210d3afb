// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"fmt"
	"time"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

// plight is everything that decides over a deleted Cinder whose children could
// not be swept.
type plight struct {
	// err says why not: an UnavailableError when the cluster does not resolve or
	// was lost, any other error when it refused the sweep.
	err error
	// givenUp says that somebody gave the children up by annotation.
	givenUp bool
	// deletedFor and missingFor are the ages of the two windows: since the
	// deletion, and since this process first missed the registration. missingFor
	// means nothing while there is one.
	deletedFor, missingFor time.Duration
	// window is what both have to reach.
	window time.Duration
}

// verdict says what becomes of such a Cinder.
type verdict struct {
	// abandon lets go of it and of its children.
	abandon bool
	// message says what it waits for otherwise, and how the wait is ended.
	message string
}

// judge decides from its argument alone. Nothing is given up because a cluster
// does not answer: only its registration that stays away, or somebody's word,
// ends the wait for a sweep.
func judge(p plight) verdict {
	if p.givenUp {
		return verdict{abandon: true}
	}
	u, ok := clusters.AsUnavailable(p.err)
	switch {
	case !ok:
		return verdict{message: fmt.Sprintf("the children cannot be deleted: %s; the deletion is tried again, or ends without them once the Cinder is annotated with %s=true",
			p.err, v1alpha1.AnnotationAbandonChildren)}
	case u.Cause != clusters.CauseNotRegistered:
		return verdict{message: fmt.Sprintf("%s; the deletion waits until the children there can be deleted, or ends without them once the Cinder is annotated with %s=true",
			u.Message, v1alpha1.AnnotationAbandonChildren)}
	case p.deletedFor >= p.window && p.missingFor >= p.window:
		return verdict{abandon: true}
	}
	return verdict{message: fmt.Sprintf("%s; the deletion waits for it, and ends without the children there once it has been missing for %s, or at once when the Cinder is annotated with %s=true",
		u.Message, p.window, v1alpha1.AnnotationAbandonChildren)}
}
