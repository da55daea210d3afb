// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/workload"
)

const (
	// EventServiceRemoved tells that a backend was taken out of the service
	// registry.
	EventServiceRemoved = "ServiceRemoved"
	// EventServiceRemoveJobFailed tells that the Job for it failed.
	EventServiceRemoveJobFailed = "ServiceRemoveJobFailed"

	suffixServiceRemove = "service-remove"
	// maxBackendInKey is what the annotation that remembers a Job has room for
	// beside its fixed parts.
	maxBackendInKey = 35
)

// detachStage is how far the detach of one backend came in a pass.
type detachStage int

const (
	// detachWaits: something on the children's cluster has to happen first.
	detachWaits detachStage = iota
	// detachFailed: the Job failed. The finalizer stays until it is deleted.
	detachFailed
	// detachReleased: the finalizer is gone.
	detachReleased
)

// detachReport is what a pass did for the backends that are being deleted.
type detachReport struct {
	// failed says, for each failed Job, what became of it.
	failed []string
	// waiting says what the backend whose turn it is waits for.
	waiting string
	// pending tells that the pass has to end here: a backend is under way, or
	// another one waits for its turn.
	pending bool
}

// detachBackends takes the backends that are being deleted out of Cinder's
// service registry, one a pass and in name order. One whose Job failed waits for
// a human and holds back no other.
func (r *Reconciler) detachBackends(ctx context.Context, p *Pass) (detachReport, error) {
	var report detachReport
	leaving := p.Facts.Detaching
	for i := range leaving {
		stage, message, err := r.detachBackend(ctx, p, &leaving[i])
		if err != nil {
			return report, fmt.Errorf("detach CinderBackend %s/%s: %w", leaving[i].Namespace, leaving[i].Name, err)
		}
		if stage == detachFailed {
			report.failed = append(report.failed, message)
			continue
		}
		report.waiting, report.pending = message, stage == detachWaits
		if stage == detachReleased {
			p.Facts.Detaching = slices.Delete(slices.Clone(leaving), i, i+1)
			// With the last one gone the pass goes on: the backup service may still
			// name what was swept.
			if i < len(leaving)-1 {
				report.waiting, report.pending = fmt.Sprintf("CinderBackend %s is to be detached next", leaving[i+1].Name), true
			}
		}
		break
	}
	return report, r.forgetDetached(ctx, p)
}

// detachBackend moves one backend on. The order is what keeps an entry from
// coming back: a volume service that runs reports itself into the registry every
// few seconds, so its last pod has to be gone before the Job may be there.
func (r *Reconciler) detachBackend(ctx context.Context, p *Pass, b *v1alpha1.CinderBackend) (detachStage, string, error) {
	if err := r.stillHeld(ctx, b); err != nil {
		return 0, "", err
	}
	job, err := p.serviceRemoveJob(ctx, b)
	if err != nil {
		return 0, "", err
	}
	if job == nil {
		volume := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: render.VolumeName(p.Cinder.Name, b.Name), Namespace: p.Cinder.Namespace}}
		gone, err := p.Scope.Delete(ctx, volume, metav1.DeletePropagationForeground)
		if err != nil {
			return 0, "", err
		}
		if !gone {
			return detachWaits, fmt.Sprintf("CinderBackend %s is being detached: Deployment %s is being deleted", b.Name, volume.Name), nil
		}
		if err := r.notLeaving(ctx, p.Cinder); err != nil {
			return 0, "", err
		}
	}
	if outcome, _ := jobEnd(job); outcome != jobSucceeded {
		// What succeeded is done, whatever the Job would be rendered from now.
		if job, err = ensureJob(ctx, p, workload.ServiceRemove(p.Cinder, p.Facts.Facts, b.Name, b.UID)); err != nil {
			return 0, "", err
		}
	}
	switch outcome, message := jobEnd(job); {
	case job == nil:
		return detachWaits, fmt.Sprintf("CinderBackend %s is being detached: an earlier Job %s is still there",
			b.Name, render.ServiceRemoveName(p.Cinder.Name, b.Name)), nil
	case outcome == jobRunning:
		return detachWaits, fmt.Sprintf("CinderBackend %s is being detached: Job %s takes it out of the service registry", b.Name, job.Name), nil
	case outcome == jobFailed:
		if err := r.tellDetach(ctx, p, b, job); err != nil {
			return 0, "", err
		}
		return detachFailed, fmt.Sprintf("CinderBackend %s cannot be detached: Job %s failed (%s); delete it to retry once the cause is understood",
			b.Name, job.Name, message), nil
	}
	return detachReleased, "", r.releaseBackend(ctx, p, b, job)
}

// notLeaving asks the hub itself whether a Cinder stays, before a Job is made for one of its backends. Cinders and backends
// come by watches of their own: of those that were deleted together, the Cinder may still look as if it stayed, and the
// Job would run against a database that is on its way out.
func (r *Reconciler) notLeaving(ctx context.Context, cr *v1alpha1.Cinder) error {
	now := &v1alpha1.Cinder{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(cr), now)
	switch {
	case apierrors.IsNotFound(err), err == nil && (now.UID != cr.UID || !now.DeletionTimestamp.IsZero()):
		return &staleError{fmt.Errorf("Cinder %s/%s is being deleted", cr.Namespace, cr.Name)}
	case err != nil:
		return fmt.Errorf("get Cinder %s/%s: %w", cr.Namespace, cr.Name, err)
	}
	return nil
}

// stillHeld asks the hub itself whether a backend still waits to be detached. The cache may show one that was released a
// moment ago, whose Job and whose annotation are gone: everything would be done and told once more.
func (r *Reconciler) stillHeld(ctx context.Context, b *v1alpha1.CinderBackend) error {
	now := &v1alpha1.CinderBackend{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(b), now)
	switch {
	case apierrors.IsNotFound(err), err == nil && (now.UID != b.UID || !controllerutil.ContainsFinalizer(now, v1alpha1.FinalizerServiceRemove)):
		return &staleError{fmt.Errorf("CinderBackend %s/%s is released", b.Namespace, b.Name)}
	case err != nil:
		return fmt.Errorf("get CinderBackend %s/%s: %w", b.Namespace, b.Name, err)
	}
	return nil
}

// serviceRemoveJob is the Job of this very backend, as the cache knows it, or
// nil. One that carries another UID was for a backend of the same name.
func (p *Pass) serviceRemoveJob(ctx context.Context, b *v1alpha1.CinderBackend) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	err := p.Scope.Get(ctx, render.ServiceRemoveName(p.Cinder.Name, b.Name), job)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case job.Annotations[render.AnnotationBackendUID] != string(b.UID) || !job.DeletionTimestamp.IsZero():
		return nil, nil
	}
	return job, nil
}

func jobEnd(job *batchv1.Job) (jobOutcome, string) {
	if job == nil {
		return jobRunning, ""
	}
	outcome, message, _ := outcomeOf(job)
	return outcome, message
}

// releaseBackend ends a detach whose Job succeeded: the projection goes whole,
// the end is told, and the finalizer is released last.
func (r *Reconciler) releaseBackend(ctx context.Context, p *Pass, b *v1alpha1.CinderBackend, job *batchv1.Job) error {
	if err := p.Scope.SweepRevisions(ctx, &corev1.Secret{}, render.BackendBase(p.Cinder.Name, b.Name)); err != nil {
		return err
	}
	if err := r.tellDetach(ctx, p, b, job); err != nil {
		return err
	}
	released := b.DeepCopy()
	controllerutil.RemoveFinalizer(released, v1alpha1.FinalizerServiceRemove)
	patch := client.MergeFromWithOptions(b.DeepCopy(), client.MergeFromWithOptimisticLock{})
	err := client.IgnoreNotFound(r.hub.Patch(ctx, released, patch))
	if err != nil {
		err = fmt.Errorf("patch finalizers of CinderBackend %s/%s: %w", b.Namespace, b.Name, err)
	}
	if apierrors.IsConflict(err) {
		// Its controller wrote in between; the next pass knows what.
		return &staleError{err}
	}
	return err
}

// tellDetach gives the event and the metrics of a Job's end, once for each Job.
func (r *Reconciler) tellDetach(ctx context.Context, p *Pass, b *v1alpha1.CinderBackend, job *batchv1.Job) error {
	outcome, message, at := outcomeOf(job)
	d := deferral{"ServiceRemove" + eventSuffixEmissionDeferred, toldLater}
	if outcome == jobSucceeded {
		// The backend is released all the same, and its Job goes with it.
		d.fate = "is not told in an event or a metric"
	}
	tell, err := r.tellOnce(ctx, p, detachSuffix(b.Name), d, job)
	if err != nil || !tell {
		return err
	}
	r.metrics.serviceRemove.count(p, job, outcome, at)
	if outcome == jobFailed {
		r.tellNow(p, corev1.EventTypeWarning, EventServiceRemoveJobFailed, "Job %s of CinderBackend %s failed: %s", job.Name, b.Name, message)
		return nil
	}
	r.tellNow(p, corev1.EventTypeNormal, EventServiceRemoved, "Job %s took %s, the volume service of CinderBackend %s, out of the service registry",
		job.Name, render.VolumeHost(p.Cinder.Name, b.Name), b.Name)
	return nil
}

// detachSuffix is the job suffix under which the Job of a backend is remembered.
func detachSuffix(backend string) string {
	return render.FitName(maxBackendInKey, backend) + "-" + suffixServiceRemove
}

// isDetachKey tells whether an annotation remembers the Job of some detach.
func isDetachKey(key string) bool {
	head, tail, _ := strings.Cut(lastJobAnnotation("\n-"+suffixServiceRemove), "\n")
	return strings.HasPrefix(key, head) && strings.HasSuffix(key, tail)
}

// forgetDetached drops what no detach needs any more: the Jobs, which have no
// time to live, and the annotations that remember them. It looks at all there
// are, so that what a pass that was cut short left behind goes as well.
func (r *Reconciler) forgetDetached(ctx context.Context, p *Pass) error {
	uids, keys := map[string]bool{}, map[string]bool{}
	for _, b := range p.Facts.Detaching {
		uids[string(b.UID)] = true
		keys[lastJobAnnotation(detachSuffix(b.Name))] = true
	}
	var jobs batchv1.JobList
	if err := p.Scope.List(ctx, &jobs, render.Labels(p.Cinder.Name, render.ComponentJob)); err != nil {
		return err
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		uid := job.Annotations[render.AnnotationBackendUID]
		if uid == "" || uids[uid] || !job.DeletionTimestamp.IsZero() {
			continue
		}
		if _, err := p.Scope.Delete(ctx, job, metav1.DeletePropagationBackground); err != nil {
			return err
		}
	}
	over := func(key string) bool { return isDetachKey(key) && !keys[key] }
	r.deferred.drop(client.ObjectKeyFromObject(p.Cinder), over)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(p.Cinder.Annotations)), over) {
		return nil
	}
	err := r.patchMeta(ctx, p.Cinder, "annotations", func(obj client.Object) {
		annotations := obj.GetAnnotations()
		maps.DeleteFunc(annotations, func(key, _ string) bool { return over(key) })
		obj.SetAnnotations(annotations)
	})
	var stalePass *staleError
	if errors.As(err, &stalePass) {
		return err
	}
	if err != nil {
		// The finalizer is released, and nothing else reads them: the next pass
		// tries again.
		log.FromContext(ctx).Error(err, "forget the Jobs of ended detaches")
	}
	return nil
}
