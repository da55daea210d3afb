// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package account makes kubeconfigs for ServiceAccounts of a lab's clusters. What an account may do is decided
// elsewhere.
package account

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
	"c5c3.io/cinder-operator/test/lab/internal/pki"
)

// pollInterval paces the waits for the ServiceAccount and for the controller that writes its token.
const pollInterval = 100 * time.Millisecond

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
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	account, err := a.await(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("await ServiceAccount %s/%s on %s: %w", a.Namespace, a.ServiceAccount, a.Cluster, err)
	}
	token, err := a.token(ctx, client, account)
	if err != nil {
		return nil, fmt.Errorf("get a token from Secret %s/%s on %s: %w", a.Namespace, a.Secret(), a.Cluster, err)
	}
	return pki.Kubeconfig(a.Cluster, a.ServiceAccount, config.Host, config.CAData, pki.Login{Token: token})
}

func (a Account) await(ctx context.Context, client kubernetes.Interface) (*corev1.ServiceAccount, error) {
	var account *corev1.ServiceAccount
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		var err error
		account, err = client.CoreV1().ServiceAccounts(a.Namespace).Get(ctx, a.ServiceAccount, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	return account, err
}

func (a Account) token(ctx context.Context, client kubernetes.Interface, account *corev1.ServiceAccount) (string, error) {
	secrets := client.CoreV1().Secrets(a.Namespace)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:        a.Secret(),
			Namespace:   a.Namespace,
			Annotations: map[string]string{corev1.ServiceAccountNameKey: a.ServiceAccount},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	var token string
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		found, err := secrets.Get(ctx, a.Secret(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if found.Type != corev1.SecretTypeServiceAccountToken || found.Annotations[corev1.ServiceAccountNameKey] != a.ServiceAccount {
			return false, fmt.Errorf("it is no token of ServiceAccount %s", a.ServiceAccount)
		}
		// Another UID is that of an account that was deleted: its token is of no use, and the controller is about
		// to remove the Secret.
		if uid := found.Annotations[corev1.ServiceAccountUIDKey]; uid != "" && uid != string(account.UID) {
			return false, nil
		}
		token = string(found.Data[corev1.ServiceAccountTokenKey])
		return token != "", nil
	})
	return token, err
}
