// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// probeName is the name of an object that is never stored.
const probeName = "cinder-operator-namespace-check"

// CheckNamespace asks a target whether the owner's namespace is there and fails
// with *clusters.UnavailableError (CauseNamespaceAbsent) when it is not. Reads
// cannot tell: in a namespace that is absent everything is merely not found. The
// account may not read namespaces either, so the question is the dry run of a
// write. An account that may not write gets no answer here; its steps say so.
func (s *Scope) CheckNamespace(ctx context.Context) error {
	if s.target.IsHub() {
		return nil // it holds the owner
	}
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: probeName, Namespace: s.owner.Namespace}}
	ref := Ref{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: probe.Namespace, Name: probe.Name}
	err := s.target.Client().Create(ctx, probe, client.DryRunAll)
	if apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return s.wrap("dry-run create", ref, err)
}
