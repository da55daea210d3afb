// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	keyAuthority    = "ca.crt"
	keyAuthorityKey = "ca.key"
	// keyPrevious holds the authority before, while its certificates may still be met.
	keyPrevious = "previous-ca.crt"

	authorityName = "cinder-operator-webhook-ca"
	organization  = "cinder-operator"
	// backdated is how long before it was made a certificate begins: a clock that is behind must not take it for one of
	// the future.
	backdated = time.Hour

	// passTimeout bounds one look; retryLeast and retryMost bound the wait after one that failed.
	passTimeout = 30 * time.Second
	retryLeast  = time.Second
	retryMost   = time.Minute
)

var serverUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}

// keeper keeps the Secret and the authority in the webhook configurations.
type keeper struct {
	*Certificate
	reader client.Reader
	writer client.Client
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: two keepers would take turns in making authorities.
func (k *keeper) NeedLeaderElection() bool { return true }

// Start looks until ctx ends. No failure ends it: without it the webhooks of a healthy operator would come to an end.
func (k *keeper) Start(ctx context.Context) error {
	retry := retryLeast
	for {
		wait := k.opts.Timing.Interval
		if err := k.pass(ctx); err != nil && ctx.Err() == nil {
			k.log.Error(err, "the webhook certificate is not kept; trying again", "in", retry.String())
			wait, retry = retry, min(2*retry, retryMost)
		} else {
			retry = retryLeast
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		case <-k.changed:
			timer.Stop()
		}
	}
}

func (k *keeper) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	secret, err := k.secret(ctx)
	if err != nil {
		return err
	}
	trusted := slices.Concat(secret.Data[keyAuthority], secret.Data[keyPrevious])
	// Both are tried: one that is missing, or may not be written, keeps the other from nothing.
	return errors.Join(k.injectValidating(ctx, trusted), k.injectMutating(ctx, trusted))
}

// secret answers the Secret with an authority and a certificate that both are good for a while.
func (k *keeper) secret(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: k.opts.Namespace, Name: k.opts.SecretName()}
	err := k.reader.Get(ctx, key, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get Secret %s: %w", key, err)
	}
	missing := err != nil
	if missing {
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name,
				Labels: map[string]string{"app.kubernetes.io/name": "cinder-operator", "app.kubernetes.io/managed-by": "cinder-operator"},
			},
			Type: corev1.SecretTypeTLS,
		}
	}
	renewed, err := k.renew(secret)
	switch {
	case err != nil:
		return nil, fmt.Errorf("make the webhook certificate: %w", err)
	case renewed == "":
		return secret, nil
	case missing:
		if err := k.writer.Create(ctx, secret); err != nil {
			return nil, fmt.Errorf("create Secret %s: %w", key, err)
		}
	default:
		// With the version that was read: what somebody else wrote meanwhile is looked at first.
		if err := k.writer.Update(ctx, secret); err != nil {
			return nil, fmt.Errorf("update Secret %s: %w", key, err)
		}
	}
	k.log.Info("the Secret of the webhook certificate was written", "secret", key.String(), "what", renewed)
	return secret, nil
}

// renew writes into the Secret what is missing or about to end, and says what that was.
func (k *keeper) renew(secret *corev1.Secret) (string, error) {
	now := time.Now()
	maker := &rotator.CertRotator{
		CAName: authorityName, CAOrganization: organization,
		DNSName: k.opts.host(), ExtraDNSNames: k.opts.names()[1:], ExtKeyUsages: &serverUsage,
	}
	begin := now.Add(-backdated)
	authority := k.authority(secret, now)
	what, previous := "a certificate was made", secret.Data[keyPrevious]
	switch {
	case authority == nil:
		made, err := maker.CreateCACert(begin, now.Add(k.opts.Timing.Authority))
		if err != nil {
			return "", err
		}
		authority, what, previous = made, "an authority and a certificate were made", stillGood(secret.Data[keyAuthority], now)
	case k.valid(secret, now):
		if len(previous) == 0 || now.Before(authority.Cert.NotBefore.Add(backdated+k.opts.Timing.Handover)) {
			return "", nil
		}
		delete(secret.Data, keyPrevious)
		return "the previous authority was dropped", nil
	}
	cert, key, err := maker.CreateCertPEM(authority, begin, now.Add(k.opts.Timing.Certificate))
	if err != nil {
		return "", err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[keyAuthority], secret.Data[keyAuthorityKey] = authority.CertPEM, authority.KeyPEM
	secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey] = cert, key
	delete(secret.Data, keyPrevious)
	if len(previous) > 0 {
		secret.Data[keyPrevious] = previous
	}
	return what, nil
}

// parsed answers the certificates among PEM blocks. What is none of them is passed over: the API server refuses a
// configuration with anything else.
func parsed(content []byte) (out []*x509.Certificate) {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			out = append(out, cert)
		}
	}
	return out
}

// stillGood answers those that have not ended, as PEM blocks.
func stillGood(content []byte, now time.Time) (out []byte) {
	for _, cert := range parsed(content) {
		if now.Before(cert.NotAfter) {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
		}
	}
	return out
}

// authority answers the Secret's authority, and nil for one that is missing, damaged or about to end.
func (k *keeper) authority(secret *corev1.Secret, now time.Time) *rotator.KeyPairArtifacts {
	cert, key := secret.Data[keyAuthority], secret.Data[keyAuthorityKey]
	if ok, err := rotator.ValidCert(cert, cert, key, authorityName, nil, now.Add(k.opts.Timing.Lookahead)); err != nil || !ok {
		return nil
	}
	certBlock, _ := pem.Decode(cert)
	keyBlock, _ := pem.Decode(key)
	if certBlock == nil || keyBlock == nil {
		return nil
	}
	parsed, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil
	}
	parsedKey, err := x509.ParsePKCS1PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil
	}
	return &rotator.KeyPairArtifacts{Cert: parsed, Key: parsedKey, CertPEM: cert, KeyPEM: key}
}

// valid tells whether the Secret's certificate is good, for every name, for a while.
func (k *keeper) valid(secret *corev1.Secret, now time.Time) bool {
	for _, name := range k.opts.names() {
		ok, err := rotator.ValidCert(secret.Data[keyAuthority], secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey],
			name, &serverUsage, now.Add(k.opts.Timing.Lookahead))
		if err != nil || !ok {
			return false
		}
	}
	return true
}

func (k *keeper) injectValidating(ctx context.Context, authority []byte) error {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	return k.inject(ctx, "ValidatingWebhookConfiguration", config, authority, func() (clients []*admissionregistrationv1.WebhookClientConfig) {
		for i := range config.Webhooks {
			clients = append(clients, &config.Webhooks[i].ClientConfig)
		}
		return clients
	})
}

func (k *keeper) injectMutating(ctx context.Context, authority []byte) error {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	return k.inject(ctx, "MutatingWebhookConfiguration", config, authority, func() (clients []*admissionregistrationv1.WebhookClientConfig) {
		for i := range config.Webhooks {
			clients = append(clients, &config.Webhooks[i].ClientConfig)
		}
		return clients
	})
}

// inject writes the authority where it is another one. The patch names each webhook and its caBundle alone, so that
// nothing else of the configuration is the operator's. A configuration that does not exist is nobody's fault: it may come
// later, or never.
func (k *keeper) inject(ctx context.Context, kind string, config client.Object, authority []byte, clients func() []*admissionregistrationv1.WebhookClientConfig) error {
	err := k.reader.Get(ctx, client.ObjectKey{Name: k.opts.Name}, config)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s %s: %w", kind, k.opts.Name, err)
	}
	before := config.DeepCopyObject().(client.Object)
	changed := false
	for _, c := range clients() {
		if !bytes.Equal(c.CABundle, authority) {
			c.CABundle, changed = authority, true
		}
	}
	if !changed {
		return nil
	}
	if err := k.writer.Patch(ctx, config, client.StrategicMergeFrom(before)); err != nil {
		return fmt.Errorf("patch %s %s: %w", kind, k.opts.Name, err)
	}
	k.log.Info("the webhooks' authority was written", "kind", kind, "name", k.opts.Name)
	return nil
}
