// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/internal/render/conf"
)

var externalSecretKind = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ExternalSecret"}

// verdict is what a gate answers: the status, reason and message of one
// condition.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

func (v verdict) passes() bool { return v.status == metav1.ConditionTrue }

func waitingForCredentials(format string, args ...any) verdict {
	return verdict{metav1.ConditionFalse, v1alpha1.ReasonWaitingForCredentials, fmt.Sprintf(format, args...)}
}

// credentials answers CredentialsReady, and gives the cephx key where one is
// needed and usable. An error means that the question could not be answered; the
// condition then keeps its last answer.
func credentials(ctx context.Context, target clusters.Target, s satellite) (verdict, string, error) {
	switch {
	case s.nfs:
		return verdict{
			metav1.ConditionTrue, v1alpha1.ReasonCredentialsNotRequired,
			"an NFS export is mounted with the pod's own identity; there is no credential to resolve",
		}, "", nil
	case !s.rbd:
		return waitingForCredentials("spec.type is neither NFS nor RBD; no credential to resolve"), "", nil
	case s.pool == nil:
		return waitingForCredentials("spec.rbd is not set; no RBD key to resolve"), "", nil
	}

	at := types.NamespacedName{Namespace: s.GetNamespace(), Name: s.pool.KeySecretRef.Name}
	secret, err := target.Inputs().Secret(ctx, at)
	if apierrors.IsNotFound(err) {
		v, err := missingKeySecret(ctx, target, at)
		return v, "", err
	}
	if err != nil {
		return verdict{}, "", fmt.Errorf("read Secret %s on %s: %w", at, target, err)
	}
	v, key := judgeKey(secret)
	return v, key, nil
}

// missingKeySecret tells a Secret that nobody announced from one that an
// ExternalSecret has not synced yet. The ExternalSecret is read live: this runs
// only while the Secret is missing.
func missingKeySecret(ctx context.Context, target clusters.Target, key types.NamespacedName) (verdict, error) {
	notFound := waitingForCredentials("RBD key ExternalSecret %s not found yet", key)
	served, err := target.Serves(externalSecretKind)
	if err != nil {
		return verdict{}, fmt.Errorf("find out whether %s serves %s: %w", target, externalSecretKind.Kind, err)
	}
	if !served {
		return notFound, nil
	}
	es := &unstructured.Unstructured{}
	es.SetGroupVersionKind(externalSecretKind)
	switch err := target.APIReader().Get(ctx, key, es); {
	case apierrors.IsNotFound(err):
		return notFound, nil
	case err != nil:
		return verdict{}, fmt.Errorf("read ExternalSecret %s on %s: %w", key, target, err)
	}
	return waitingForCredentials("waiting for the RBD key Secret to carry the %s data key", conf.UserKey), nil
}

// judgeKey judges the content of a key Secret, as the renderer will. No message
// carries any of it.
func judgeKey(secret *corev1.Secret) (verdict, string) {
	raw, ok := secret.Data[conf.UserKey]
	if !ok {
		return waitingForCredentials("RBD key Secret exists but is missing expected keys"), ""
	}
	key, err := conf.CephKey(secret.Name, raw)
	if err != nil {
		return waitingForCredentials("%v", err), ""
	}
	return verdict{
		metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable,
		fmt.Sprintf("RBD key Secret %q carries the %s data key", secret.Name, conf.UserKey),
	}, key
}
