// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// identity tells one cluster from another behind the same name: the UID of its kube-system namespace, or a hash of the
// server and its CA where that namespace may not be read.
func identity(ctx context.Context, reader client.Reader, server string, ca []byte) (types.UID, error) {
	ns := &corev1.Namespace{}
	err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns)
	switch {
	case err == nil:
		return ns.UID, nil
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		sum := sha256.New()
		sum.Write([]byte(server))
		sum.Write([]byte{0})
		sum.Write(ca)
		return types.UID("sha256-" + hex.EncodeToString(sum.Sum(nil))[:32]), nil
	}
	return "", fmt.Errorf("get Namespace %s: %w", metav1.NamespaceSystem, err)
}
