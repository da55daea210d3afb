// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const eventServiceRemoveSkipped = "ServiceRemoveSkipped"

// detach handles a satellite that is being deleted. One that carries the
// service-remove finalizer waits for its Cinder, which unregisters the volume
// service and releases it. Where there is no Cinder any more nobody can do that,
// and the finalizer is released here.
func (r *reconciler) detach(ctx context.Context, s satellite) (outcome, error) {
	if !r.kind.detaches || !controllerutil.ContainsFinalizer(s.Object, v1alpha1.FinalizerServiceRemove) {
		return outcome{silent: true}, nil
	}
	parent := &v1alpha1.Cinder{}
	key := types.NamespacedName{Namespace: s.GetNamespace(), Name: s.cinder}
	err := r.Client.Get(ctx, key, parent)
	if apierrors.IsNotFound(err) {
		// What is released cannot be taken back: a cache that has not seen a new
		// Cinder yet must not decide it.
		err = r.APIReader.Get(ctx, key, parent)
	}
	switch {
	case apierrors.IsNotFound(err):
		return outcome{silent: true}, r.release(ctx, s, key)
	case err != nil:
		return outcome{}, fmt.Errorf("read Cinder %s: %w", key, err)
	}
	s.set(v1alpha1.ConditionReady, verdict{metav1.ConditionFalse, v1alpha1.ReasonDetaching, detachingMessage(parent)})
	*s.observed = s.GetGeneration()
	// The parent's own events end the wait.
	return outcome{}, nil
}

// hold gives a satellite of the kind that detaches its finalizer. The status that
// the pass has in memory stays: the answer carries the stored one.
func (r *reconciler) hold(ctx context.Context, s satellite) error {
	if !r.kind.detaches || controllerutil.ContainsFinalizer(s.Object, v1alpha1.FinalizerServiceRemove) {
		return nil
	}
	held, _ := s.DeepCopyObject().(client.Object)
	controllerutil.AddFinalizer(held, v1alpha1.FinalizerServiceRemove)
	base, _ := s.DeepCopyObject().(client.Object)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, held, patch); err != nil {
		return fmt.Errorf("patch finalizers of %s %s: %w", r.kind.name, client.ObjectKeyFromObject(s), err)
	}
	s.SetResourceVersion(held.GetResourceVersion())
	s.SetFinalizers(held.GetFinalizers())
	return nil
}

// detachingMessage says what a leaving backend waits for, and what its Cinder
// waits for in turn: a cluster that is away holds both.
func detachingMessage(parent *v1alpha1.Cinder) string {
	message := fmt.Sprintf("waiting for Cinder %q to unregister the volume service", parent.Name)
	if !parent.GetDeletionTimestamp().IsZero() {
		message = fmt.Sprintf("Cinder %q is being deleted and waits for %s", parent.Name, strings.Join(parent.Finalizers, ", "))
	}
	if c := meta.FindStatusCondition(parent.Status.Conditions, v1alpha1.ConditionSecretsReady); c != nil && c.Status != metav1.ConditionTrue && c.Message != "" {
		message += ": " + c.Message
	}
	return message
}

func (r *reconciler) release(ctx context.Context, s satellite, parent types.NamespacedName) error {
	before, _ := s.DeepCopyObject().(client.Object)
	controllerutil.RemoveFinalizer(s.Object, v1alpha1.FinalizerServiceRemove)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, s.Object, patch)
	switch {
	case apierrors.IsNotFound(err):
		// An old copy: the pass that released it has told of it.
		return nil
	case err != nil:
		return fmt.Errorf("release %s %s: %w", r.kind.name, client.ObjectKeyFromObject(s), err)
	}
	r.Recorder.Eventf(s.Object, nil, corev1.EventTypeNormal, eventServiceRemoveSkipped, "Detach",
		"Cinder %s is gone: the volume service was not removed from the service registry in its database", parent)
	return nil
}
