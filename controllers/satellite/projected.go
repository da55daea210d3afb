// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

func waitingForProjection(format string, args ...any) verdict {
	return verdict{metav1.ConditionFalse, v1alpha1.ReasonWaitingForProjection, fmt.Sprintf(format, args...)}
}

// projected answers ConfigProjected: whether the pod template of the service's
// Deployment names the Secret that the satellite renders to at present. The
// name follows from the content, so it is computed and no Secret is read. It is
// no rollout check.
func (r *reconciler) projected(ctx context.Context, target clusters.Target, parent *v1alpha1.Cinder, s satellite, cephKey string) (verdict, error) {
	files, err := r.kind.files(parent.Name, s.Object, cephKey)
	if err != nil {
		// What cannot be rendered is skipped by the parent, too.
		return waitingForProjection("%s cannot be rendered: %v", r.kind.name, err), nil
	}
	secret, err := projection.RevisionName(r.kind.revisionBase(parent.Name, s.GetName()), rendered(files))
	if err != nil {
		return verdict{}, fmt.Errorf("name the projection of %s %s/%s: %w", r.kind.name, s.GetNamespace(), s.GetName(), err)
	}
	scope, err := r.Projector.Scope(target, parent)
	if err != nil {
		return verdict{}, fmt.Errorf("find the children of Cinder %s/%s: %w", parent.Namespace, parent.Name, err)
	}
	name := r.kind.deployment(parent.Name, s.GetName())
	deployment := &appsv1.Deployment{}
	switch err := scope.Get(ctx, name, deployment); {
	case apierrors.IsNotFound(err):
		return waitingForProjection("Deployment %s/%s on %s does not exist yet", s.GetNamespace(), name, target), nil
	case err != nil:
		return verdict{}, err
	case !mounts(&deployment.Spec.Template.Spec, secret):
		return waitingForProjection("Deployment %s/%s on %s does not name Secret %s yet", s.GetNamespace(), name, target, secret), nil
	}
	return verdict{
		metav1.ConditionTrue, v1alpha1.ReasonConfigProjected,
		fmt.Sprintf("Deployment %s/%s on %s names Secret %s", s.GetNamespace(), name, target, secret),
	}, nil
}

// rendered is the Secret that the parent keeps the files in.
func rendered(files map[string]string) *corev1.Secret {
	data := make(map[string][]byte, len(files))
	for key, text := range files {
		data[key] = []byte(text)
	}
	return &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: data}
}

// mounts tells whether a pod mounts the Secret, by itself or in a projected
// volume.
func mounts(pod *corev1.PodSpec, secret string) bool {
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		if v.Secret != nil && v.Secret.SecretName == secret {
			return true
		}
		if v.Projected == nil {
			continue
		}
		for _, src := range v.Projected.Sources {
			if src.Secret != nil && src.Secret.Name == secret {
				return true
			}
		}
	}
	return false
}
