// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	keyAuthority    = "ca.crt"
	keyAuthorityKey = "ca.key"
	// keyPrevious holds the authorities before, while their certificates may still be met.
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

// keeper keeps the Secret and the authority in the webhook configurations.
type keeper struct {
	*Certificate
	reader client.Reader
	writer client.Client
	// pending is an authority that no Secret holds yet: one that is trusted, but could not be written, is not followed by
	// another with every try.
	pending *rotator.KeyPairArtifacts
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

// pass looks once. What is to be trusted is written before what needs it: between the two, a crash leaves an authority that
// is trusted for nothing, until the next pass overwrites it.
func (k *keeper) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	secret, err := k.secret(ctx)
	if err != nil {
		return err
	}
	configs, failed := k.configurations(ctx)
	renewed, err := k.renew(secret, configs, failed == nil)
	if err != nil {
		return fmt.Errorf("make the webhook certificate: %w", err)
	}
	authorities := slices.Concat(secret.Data[keyAuthority], encoded(stillGood(parsed(secret.Data[keyPrevious]), time.Now())))
	// All are tried: one that may not be written keeps the other from nothing.
	for _, config := range configs {
		failed = errors.Join(failed, k.inject(ctx, config, authorities))
	}
	if failed != nil && renewed.holds {
		return fmt.Errorf("the certificate that is served stays until its successor is trusted: %w", failed)
	}
	return errors.Join(failed, k.write(ctx, secret, renewed.what))
}

// secret answers the Secret, and an empty one that was never stored where there is none.
func (k *keeper) secret(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: k.opts.Namespace, Name: k.opts.SecretName()}
	err := k.reader.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name,
				Labels: map[string]string{"app.kubernetes.io/name": "cinder-operator", "app.kubernetes.io/managed-by": "cinder-operator"},
			},
			Type: corev1.SecretTypeTLS,
		}
	case err != nil:
		return nil, fmt.Errorf("get Secret %s: %w", key, err)
	}
	return secret, nil
}

// write stores the Secret where something of it is new.
func (k *keeper) write(ctx context.Context, secret *corev1.Secret, what string) error {
	key := client.ObjectKeyFromObject(secret)
	switch {
	case what == "":
		return nil
	case secret.ResourceVersion == "":
		if err := k.writer.Create(ctx, secret); err != nil {
			return fmt.Errorf("create Secret %s: %w", key, err)
		}
	default:
		// With the version that was read: what somebody else wrote meanwhile is looked at first.
		if err := k.writer.Update(ctx, secret); err != nil {
			return fmt.Errorf("update Secret %s: %w", key, err)
		}
	}
	k.pending = nil
	k.log.Info("the Secret of the webhook certificate was written", "secret", key.String(), "what", what)
	return nil
}

// renewal is what was changed in a Secret that is not stored yet.
type renewal struct {
	// what is empty for nothing.
	what string
	// holds is set while a good certificate is served that the new authority takes the place of.
	holds bool
}

// renew writes into the Secret what is missing or about to end. The configurations are looked at for what the Secret does
// not tell; all tells whether they are all there are.
func (k *keeper) renew(secret *corev1.Secret, configs []configuration, all bool) (renewal, error) {
	now := time.Now()
	maker := &rotator.CertRotator{
		CAName: authorityName, CAOrganization: organization,
		DNSName: k.opts.host(), ExtraDNSNames: k.opts.names()[1:], ExtKeyUsages: &serverUsage,
	}
	authority := k.authority(secret, now)
	out, previous := renewal{what: "a certificate was made"}, secret.Data[keyPrevious]
	switch {
	case authority == nil:
		if k.pending == nil {
			anew, err := maker.CreateCACert(now.Add(-backdated), now.Add(k.opts.Timing.Authority))
			if err != nil {
				return renewal{}, err
			}
			k.pending = anew
		}
		before := k.before(secret, configs, now)
		authority, previous = k.pending, encoded(before)
		out = renewal{what: "an authority and a certificate were made", holds: k.serving(secret, before, all, now)}
	case k.valid(secret, now):
		k.pending = nil
		if len(previous) == 0 || now.Before(made(secret).Add(k.opts.Timing.Handover)) {
			return renewal{}, nil
		}
		delete(secret.Data, keyPrevious)
		return renewal{what: "the previous authorities were dropped"}, nil
	}
	// The hand-over begins with it: the time that was spent on the authority is none of it.
	now = time.Now()
	cert, key, err := maker.CreateCertPEM(authority, now.Add(-backdated), now.Add(k.opts.Timing.Certificate))
	if err != nil {
		return renewal{}, err
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
	return out, nil
}

// made answers when a Secret's good certificate was made. Its authority may be older: it waited until it was trusted.
func made(secret *corev1.Secret) time.Time {
	certs := parsed(secret.Data[corev1.TLSCertKey])
	if len(certs) == 0 {
		return time.Time{}
	}
	return certs[0].NotBefore.Add(backdated)
}

// before answers the authorities that are good and may be met while a new one takes the place of the Secret's: its own and
// those before it. A Secret that is gone or has none is no reason to trust the certificate less that goes on being served:
// then it is the configurations that know. Those of what this process serves come first, for there are no more than a few.
func (k *keeper) before(secret *corev1.Secret, configs []configuration, now time.Time) (out []*x509.Certificate) {
	old := stillGood(parsed(secret.Data[keyAuthority]), now)
	if len(old) == 0 {
		old = parsed(trusted(configs))
	}
	old = slices.DeleteFunc(stillGood(slices.Concat(old, parsed(secret.Data[keyPrevious])), now), k.pending.Cert.Equal)
	met := func(authority *x509.Certificate) bool {
		return slices.ContainsFunc(k.served.Load().all(), func(cert *tls.Certificate) bool {
			return signedBy(cert, []*x509.Certificate{authority}, now)
		})
	}
	for _, first := range []bool{true, false} {
		for _, authority := range old {
			if met(authority) == first {
				out = append(out, authority)
			}
		}
	}
	return out[:min(len(out), mostBefore)]
}

// serving tells whether a good certificate of the authorities before is served: by this process, or by whoever follows the
// Secret. Where only the configurations know the authority, and not all could be read, the certificate has the benefit of the
// doubt.
func (k *keeper) serving(secret *corev1.Secret, before []*x509.Certificate, all bool, now time.Time) bool {
	current := k.current()
	if !all && len(before) == 0 && len(parsed(secret.Data[keyAuthority])) == 0 {
		return current != nil && now.Before(current.Leaf.NotAfter)
	}
	if current != nil && signedBy(current, before, now) {
		return true
	}
	stored, err := keyPair(secret)
	return err == nil && signedBy(stored, before, now)
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
