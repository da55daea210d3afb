// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import "sigs.k8s.io/controller-runtime/pkg/client"

// RevisionName is the name under which ApplyRevision applies a Secret or
// ConfigMap of this content. It asks no cluster.
func RevisionName(base string, intent client.Object) (string, error) {
	revision, err := asRevision(base, intent)
	if err != nil {
		return "", err
	}
	return revision.GetName(), nil
}
