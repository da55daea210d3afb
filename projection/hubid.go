// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HubID is the identity of the hub: the value given by the --hub-id flag where
// there is one, so that a rebuilt hub goes on under its old identity, else the
// UID of the namespace kube-system. It fails when neither is to be had.
func HubID(ctx context.Context, reader client.Reader, flag string) (string, error) {
	if flag != "" {
		if errs := validation.IsValidLabelValue(flag); len(errs) > 0 {
			return "", fmt.Errorf("--hub-id %q is no label value: %s", flag, strings.Join(errs, "; "))
		}
		return flag, nil
	}
	// Metadata alone, which is all that the identity needs.
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, ns); err != nil {
		return "", fmt.Errorf("the hub has no identity: the namespace %s cannot be read and --hub-id is not set "+
			"(grant the account get on it, as the roles of config/target-access do, or set the flag to the namespace's UID): %w", metav1.NamespaceSystem, err)
	}
	return string(ns.GetUID()), nil
}
