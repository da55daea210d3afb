// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// alwaysPasses tells whether an update is one that nobody may be kept from: whatever happens to an object that is being
// deleted, and the removal of finalizers alone, which is how the deletion of others ends.
func alwaysPasses(obj, old metav1.Object, spec, oldSpec any) bool {
	if obj.GetDeletionTimestamp() != nil {
		return true
	}
	left, before := obj.GetFinalizers(), old.GetFinalizers()
	if len(left) >= len(before) || slices.ContainsFunc(left, func(f string) bool { return !slices.Contains(before, f) }) {
		return false
	}
	return apiequality.Semantic.DeepEqual(spec, oldSpec) &&
		apiequality.Semantic.DeepEqual(obj.GetLabels(), old.GetLabels()) &&
		apiequality.Semantic.DeepEqual(obj.GetAnnotations(), old.GetAnnotations()) &&
		apiequality.Semantic.DeepEqual(obj.GetOwnerReferences(), old.GetOwnerReferences())
}
