// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/urls"
)

// The data keys of the credential Secrets that users provide.
const (
	keyUsername = "username"
	keyPassword = "password"
)

// reconcileSecrets gates on the secret store and on the credential Secrets, and
// derives the service user's Secret.
func (r *Reconciler) reconcileSecrets(ctx context.Context, p *Pass) (ctrl.Result, error) {
	if reason, message, err := r.storeGate(ctx, p); err != nil || reason != "" {
		if err != nil {
			return ctrl.Result{}, err
		}
		return r.waitForSecrets(p, reason, message)
	}
	spec := &p.Cinder.Spec.Database
	if _, message, err := r.credentials(ctx, p, spec.SecretRef.Name, databaseKeys(spec)...); err != nil || message != "" {
		if err != nil {
			return ctrl.Result{}, err
		}
		return r.waitForSecrets(p, v1alpha1.ReasonWaitingForDBCredentials, "database credentials: "+message)
	}
	return r.reconcileServiceUser(ctx, p)
}

// storeGate decides about the secret store. An empty reason opens the gate.
func (r *Reconciler) storeGate(ctx context.Context, p *Pass) (reason, message string, err error) {
	store, explicit := p.Cinder.Spec.EffectiveSecretStore()
	gvk := externalSecrets.WithKind(string(store.Kind))
	served, err := p.Target.Serves(gvk)
	if err != nil {
		return "", "", fmt.Errorf("ask whether %s serves %s: %w", p.Target, gvk.Kind, err)
	}
	if !served && !explicit {
		// Plain Secrets serve where no secret store can be.
		return "", "", nil
	}
	if r.Namespace != "" && store.Kind == v1alpha1.SecretStoreKindCluster {
		return v1alpha1.ReasonClusterSecretStoreUnsupported,
			fmt.Sprintf("an operator that serves the namespace %s alone reads no ClusterSecretStore %q: name a SecretStore in spec.secretStoreRef", r.Namespace, store.Name), nil
	}
	key := types.NamespacedName{Name: store.Name}
	if store.Kind == v1alpha1.SecretStoreKindNamespaced {
		key.Namespace = p.Cinder.Namespace
	}
	obj, message, err := reference(ctx, p, gvk, key)
	if err != nil {
		return "", "", err
	}
	if message == "" {
		ready, why := readiness(obj)
		if ready {
			return "", "", nil
		}
		message = fmt.Sprintf("%s %q on %s is not ready: %s", store.Kind, store.Name, p.Target, why)
	}
	return v1alpha1.ReasonSecretStoreNotReady, "secret store: " + message, nil
}

// reconcileServiceUser derives the Secret that the services' environment is
// taken from. The password goes through it because oslo.config substitutes a
// dollar sign even in the environment.
func (r *Reconciler) reconcileServiceUser(ctx context.Context, p *Pass) (ctrl.Result, error) {
	name := render.ServiceUserName(p.Cinder.Name)
	user := p.Cinder.Spec.EffectiveServiceUser()
	if user == nil {
		return ctrl.Result{}, remove(ctx, p, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.Cinder.Namespace}})
	}
	secret, message, err := r.credentials(ctx, p, user.SecretRef.Name, user.SecretRef.Key)
	if err != nil {
		return ctrl.Result{}, err
	}
	if message != "" {
		return r.waitForSecrets(p, v1alpha1.ReasonWaitingForServiceUserCredentials, "service user credentials: "+message)
	}
	password := string(secret.Data[user.SecretRef.Key])
	derived := derivedSecret(p.Cinder, name, map[string][]byte{render.KeyPassword: []byte(urls.EscapeEnv(password))})
	if _, err := apply(ctx, p, derived); err != nil {
		return ctrl.Result{}, err
	}
	p.Facts.AuthtokenHash = render.Digest(password)
	return ctrl.Result{}, nil
}

// waitForSecrets reports a gate that is closed. It ends the pass: everything
// behind it needs what it waits for.
func (r *Reconciler) waitForSecrets(p *Pass, reason, message string) (ctrl.Result, error) {
	p.setFalse(v1alpha1.ConditionSecretsReady, reason, "%s", message)
	return ctrl.Result{RequeueAfter: r.Intervals.SecretPolling}, nil
}

// credentials reads a user's Secret on the children's cluster. The message says
// what is missing; it names keys and never a value.
func (r *Reconciler) credentials(ctx context.Context, p *Pass, name string, keys ...string) (*corev1.Secret, string, error) {
	secret, err := p.Target.Inputs().Secret(ctx, types.NamespacedName{Namespace: p.Cinder.Namespace, Name: name})
	if apierrors.IsNotFound(err) {
		// It may be the namespace that is missing.
		if err := p.Scope.CheckNamespace(ctx); err != nil {
			return nil, "", err
		}
		announced, err := announcement(ctx, p, name)
		return nil, fmt.Sprintf("Secret %s/%s does not exist on %s%s", p.Cinder.Namespace, name, p.Target, announced), err
	}
	if err != nil {
		return nil, "", fmt.Errorf("get Secret %s/%s on %s: %w", p.Cinder.Namespace, name, p.Target, err)
	}
	for _, key := range keys {
		if len(secret.Data[key]) == 0 {
			return secret, fmt.Sprintf("Secret %s/%s on %s has no value under the key %q", p.Cinder.Namespace, name, p.Target, key), nil
		}
	}
	return secret, "", nil
}

// announcement says what an ExternalSecret of a missing Secret's name makes of it;
// empty where there is none to be seen.
func announcement(ctx context.Context, p *Pass, name string) (string, error) {
	external, message, err := reference(ctx, p, externalSecretKind, types.NamespacedName{Namespace: p.Cinder.Namespace, Name: name})
	if err != nil || message != "" {
		return "", err
	}
	said := fmt.Sprintf("; ExternalSecret %s/%s has not made it", p.Cinder.Namespace, name)
	if ready, why := readiness(external); !ready {
		said += ": " + why
	}
	return said, nil
}

// derivedSecret is a Secret that the operator makes out of users' Secrets.
func derivedSecret(cr *v1alpha1.Cinder, name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: cr.Namespace, Labels: render.CommonLabels(cr.Name)},
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
}
