// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package account makes kubeconfigs for ServiceAccounts of a lab's clusters. What an account may do is decided
// elsewhere.
package account

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
	"c5c3.io/cinder-operator/test/lab/internal/pki"
)

var (
	accounts = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	secrets  = corev1.SchemeGroupVersion.WithResource("secrets")
)

// Account names a ServiceAccount of a cluster.
type Account struct {
	Cluster, Namespace, ServiceAccount string
	// TokenSecret is the Secret that holds the token; by default the account's name with "-token" behind it.
	TokenSecret string
}

// Secret is the name of the token's Secret.
func (a Account) Secret() string {
	if a.TokenSecret != "" {
		return a.TokenSecret
	}
	return a.ServiceAccount + "-token"
}

// Kubeconfig waits until the ServiceAccount exists and returns a kubeconfig with a token of it. The token lies in a
// Secret of type service-account-token, created if it is not there: unlike a requested token it ends when somebody
// deletes that Secret, and not before.
func (a Account) Kubeconfig(ctx context.Context, adminKubeconfig string) ([]byte, error) {
	config, err := kubeclient.Config(adminKubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var uid types.UID
	err = kubeclient.Await(ctx, client.Resource(accounts).Namespace(a.Namespace), a.ServiceAccount, func(live *unstructured.Unstructured) (bool, error) {
		if live != nil {
			uid = live.GetUID()
		}
		return live != nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("await ServiceAccount %s/%s on %s: %w", a.Namespace, a.ServiceAccount, a.Cluster, err)
	}
	token, err := a.token(ctx, client.Resource(secrets).Namespace(a.Namespace), uid)
	if err != nil {
		return nil, fmt.Errorf("get a token from Secret %s/%s on %s: %w", a.Namespace, a.Secret(), a.Cluster, err)
	}
	return pki.Kubeconfig(a.Cluster, a.ServiceAccount, config.Host, config.CAData, pki.Login{Token: token})
}

// token creates the Secret of an account's token and waits for the controller that fills it in.
func (a Account) token(ctx context.Context, client dynamic.ResourceInterface, account types.UID) (string, error) {
	secret := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        a.Secret(),
			Namespace:   a.Namespace,
			Annotations: map[string]string{corev1.ServiceAccountNameKey: a.ServiceAccount},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
	if err != nil {
		return "", err
	}
	if _, err := client.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	var token string
	err = kubeclient.Await(ctx, client, a.Secret(), func(live *unstructured.Unstructured) (bool, error) {
		if live == nil {
			return false, errors.New("it is gone")
		}
		var found corev1.Secret
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &found); err != nil {
			return false, err
		}
		if found.Type != corev1.SecretTypeServiceAccountToken || found.Annotations[corev1.ServiceAccountNameKey] != a.ServiceAccount {
			return false, fmt.Errorf("it is no token of ServiceAccount %s", a.ServiceAccount)
		}
		// Another UID is that of an account that was deleted: its token is of no use, and the controller is about
		// to remove the Secret.
		if uid := found.Annotations[corev1.ServiceAccountUIDKey]; uid != "" && uid != string(account) {
			return false, nil
		}
		token = string(found.Data[corev1.ServiceAccountTokenKey])
		return token != "", nil
	})
	return token, err
}
