// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"fmt"
	"time"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

// plight is everything that decides over a deleted Cinder.
type plight struct {
	// err says why its children could not be swept: an UnavailableError when the
	// cluster does not resolve or was lost, any other error when it refused. Nil
	// says that they were swept.
	err error
	// elsewhere is the cluster that holds the children when another one stands
	// behind its name; else nil.
	elsewhere *v1alpha1.TargetClusterStatusRef
	// cluster is the name that the Cinder knows its cluster by; empty for the hub.
	cluster string
	// held names what is left of a database that others' finalizers hold, once
	// the rest was swept.
	held []string
	// givenUp says that somebody gave the children up by annotation.
	givenUp bool
	// deletedFor and missingFor are the ages of the two windows: since the
	// deletion, and since this process first missed the registration. missingFor
	// means nothing while there is one.
	deletedFor, missingFor time.Duration
	// window is what both have to reach.
	window time.Duration
}

// verdict says what becomes of it.
type verdict struct {
	// release lets go of the Cinder.
	release bool
	// left names the cluster on which children stay behind then; empty when none do.
	left string
	// names are what stays behind there; nil when nobody could look.
	names []string
	// message says what the Cinder waits for otherwise, and how the wait is ended.
	message string
}

// judge decides from its argument alone. Nothing is given up because a cluster
// does not answer: only a registration that stays away, or somebody's word, ends
// the wait for a sweep.
func judge(p plight) verdict {
	left := fmt.Sprintf("target cluster %q", p.cluster)
	switch {
	case p.elsewhere != nil:
		left = former(p.elsewhere)
	case p.cluster == "":
		left = "the hub"
	}
	u, away := clusters.AsUnavailable(p.err)
	switch {
	case p.err == nil && p.elsewhere == nil && len(p.held) > 0:
		return verdict{release: true, left: left, names: p.held}
	case p.err == nil && p.elsewhere == nil:
		return verdict{release: true}
	case p.err == nil:
		// The cluster that took the other's place was accepted: what was swept is
		// not what had been projected.
		return verdict{release: true, left: left}
	case p.givenUp:
		return verdict{release: true, left: left}
	case !away:
		return verdict{message: fmt.Sprintf("the children cannot be deleted: %s; the deletion is tried again, or ends without them once the Cinder is annotated with %s=true",
			p.err, v1alpha1.AnnotationAbandonChildren)}
	case u.Cause != clusters.CauseNotRegistered:
		return verdict{message: fmt.Sprintf("%s; the deletion waits until the children there can be deleted, or ends without them once the Cinder is annotated with %s=true",
			u.Message, v1alpha1.AnnotationAbandonChildren)}
	case p.deletedFor >= p.window && p.missingFor >= p.window:
		return verdict{release: true, left: left}
	}
	return verdict{message: fmt.Sprintf("%s; the deletion waits for it, and ends without the children there once it has been missing for %s, or at once when the Cinder is annotated with %s=true",
		u.Message, p.window, v1alpha1.AnnotationAbandonChildren)}
}

// former names a cluster that another one has taken the place of.
func former(ref *v1alpha1.TargetClusterStatusRef) string {
	return fmt.Sprintf("the cluster with the UID %s that was registered as %q", ref.UID, ref.Name)
}
