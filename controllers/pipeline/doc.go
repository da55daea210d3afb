// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package pipeline runs a table of reconcile steps over one custom resource.
//
// A lane of sequential steps ends the pass at the first requeue or error; a
// group of parallel steps follows, whose members all run, each on its own copy
// of the resource. Steps only set conditions and status fields in memory: the
// engine writes status once, on every exit path, and only when the outcome of
// the pass differs from what is stored.
//
// The package knows nothing of Cinder.
package pipeline
