// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// lastJobAnnotation remembers the UID of the last Job of a kind that was told of.
func lastJobAnnotation(suffix string) string { return "cinder.c5c3.io/last-" + suffix + "-job-uid" }

// toldLater is the fate of an end that cannot be remembered while its Job stays:
// another pass looks at it.
const toldLater = "is told later"

// deferral is the event that is given when the end of a Job cannot be remembered.
type deferral struct {
	// reason is the event's.
	reason string
	// fate is what becomes of the end that is not told now.
	fate string
}

// tellOnce says whether the end of a Job is still to be told, and remembers it
// first: a crash may lose an event, never repeat one.
func (r *Reconciler) tellOnce(ctx context.Context, p *Pass, suffix string, d deferral, job *batchv1.Job) (bool, error) {
	key := lastJobAnnotation(suffix)
	if p.Cinder.Annotations[key] == string(job.UID) {
		return false, nil
	}
	return r.remember(ctx, p, key, nil, d, job)
}

// remember writes the UID of a Job under key, and more beside it, and tells
// whether it could.
func (r *Reconciler) remember(ctx context.Context, p *Pass, key string, more map[string]string, d deferral, job *batchv1.Job) (bool, error) {
	set := map[string]string{key: string(job.UID)}
	maps.Copy(set, more)
	err := r.annotate(ctx, p, key, set)
	cinder := client.ObjectKeyFromObject(p.Cinder)
	if err == nil {
		r.deferred.drop(cinder, func(k string) bool { return k == key })
		return true, nil
	}
	var stale *staleError
	if errors.As(err, &stale) {
		return false, err
	}
	log.FromContext(ctx).Error(err, "remember a Job", "job", job.Name)
	note := fmt.Sprintf("the end of Job %s %s: %s", job.Name, d.fate, err)
	if r.deferred.first(cinder, key, deferred{job.UID, note}) {
		r.tellNow(p, corev1.EventTypeWarning, d.reason, "%s", note)
	}
	return false, nil
}

func (r *Reconciler) annotate(ctx context.Context, p *Pass, what string, set map[string]string) error {
	return r.patchMeta(ctx, p.Cinder, "annotation "+what, func(obj client.Object) {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		maps.Copy(annotations, set)
		obj.SetAnnotations(annotations)
	})
}

// deferred is what a deferral was last given for.
type deferred struct {
	job  types.UID
	note string
}

// deferrals remembers what this process has said of Jobs whose ends could not be
// remembered, the last of each annotation: an annotation that is refused is
// refused in every pass.
type deferrals struct {
	mu   sync.Mutex
	last map[types.NamespacedName]map[string]deferred
}

func newDeferrals() *deferrals {
	return &deferrals{last: map[types.NamespacedName]map[string]deferred{}}
}

// first tells whether something is to be said of an annotation, and notes that it
// was.
func (m *deferrals) first(cinder types.NamespacedName, key string, d deferred) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last[cinder][key] == d {
		return false
	}
	if m.last[cinder] == nil {
		m.last[cinder] = map[string]deferred{}
	}
	m.last[cinder][key] = d
	return true
}

// drop forgets the annotations of a Cinder that over tells.
func (m *deferrals) drop(cinder types.NamespacedName, over func(key string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.last[cinder], func(key string, _ deferred) bool { return over(key) })
	if len(m.last[cinder]) == 0 {
		delete(m.last, cinder)
	}
}

func (m *deferrals) forget(cinder types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, cinder)
}
