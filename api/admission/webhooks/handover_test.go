// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bundles are what the validating and the mutating webhooks are trusted by.
func bundles(ctx context.Context) (out [2][]byte, err error) {
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	key := client.ObjectKey{Name: installation}
	if err := errors.Join(admin.Get(ctx, key, validating), admin.Get(ctx, key, mutating)); err != nil {
		return out, err
	}
	return [2][]byte{validating.Webhooks[0].ClientConfig.CABundle, mutating.Webhooks[0].ClientConfig.CABundle}, nil
}

// handedOver tells whether the Secret's authority is the only one that is trusted, and has none before it.
func handedOver(ctx context.Context) (bool, error) {
	secret := &corev1.Secret{}
	if err := admin.Get(ctx, secretKey, secret); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	trusted, err := bundles(ctx)
	authority := secret.Data["ca.crt"]
	return len(authority) > 0 && len(secret.Data["previous-ca.crt"]) == 0 &&
		bytes.Equal(trusted[0], authority) && bytes.Equal(trusted[1], authority), err
}

// settled waits for the end of what an earlier test began, and answers the Secret.
func settled(t *testing.T) *corev1.Secret {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, limit, true, handedOver); err != nil {
		t.Fatalf("the authority is not handed over: %v", err)
	}
	if err := served(t.Context()); err != nil {
		t.Fatal(err)
	}
	return certificateSecret(t)
}

// lateBy is how much later than it was written the slowest API server reads what it is to trust. It is well below Settle.
const lateBy = 500 * time.Millisecond

// witness asks what API servers ask: the one there is, and one that hears of everything late.
type witness struct {
	asked int
	// known is what each configuration trusted, the first of it lateBy ago.
	known [2][]trust
}

type trust struct {
	since  time.Time
	bundle []byte
}

func (w *witness) ask(ctx context.Context) error {
	w.asked++
	if err := admin.Create(ctx, newBackend("default", "meanwhile"), client.DryRunAll); err != nil {
		return fmt.Errorf("change %d: %w", w.asked, err)
	}
	now := time.Now()
	trusted, err := bundles(ctx)
	if err != nil {
		return err
	}
	for i, bundle := range trusted {
		known := w.known[i]
		if len(known) == 0 || !bytes.Equal(known[len(known)-1].bundle, bundle) {
			known = append(known, trust{now, bundle})
		}
		for len(known) > 1 && now.Sub(known[1].since) >= lateBy {
			known = known[1:]
		}
		w.known[i] = known
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(known[0].bundle)
		dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "localhost"}}
		conn, err := dialer.DialContext(ctx, "tcp", webhooksAt)
		if err != nil {
			return fmt.Errorf("change %d, of an API server that is late: %w", w.asked, err)
		}
		_ = conn.Close()
	}
	return nil
}

// until asks until what is waited for is there, and ends the test with the first change that is refused.
func (w *witness) until(t *testing.T, what string, there func(ctx context.Context) (bool, error)) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		if err := w.ask(ctx); err != nil {
			return false, err
		}
		return there(ctx)
	})
	if err != nil {
		t.Fatalf("until %s: %v", what, err)
	}
}

// Faster than what is presented settles, and more often than authorities are kept.
func TestNoChangeIsRefusedWhileTheSecretIsDeletedAndEmptiedAgainAndAgain(t *testing.T) {
	settled(t)
	w := &witness{}
	for i := range 8 {
		secret := certificateSecret(t)
		before := secret.Data[corev1.TLSCertKey]
		if i%2 == 0 {
			if err := admin.Delete(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		} else {
			for key := range secret.Data {
				secret.Data[key] = nil
			}
			if err := admin.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		w.until(t, "the Secret is filled again", func(ctx context.Context) (bool, error) {
			secret := &corev1.Secret{}
			if err := admin.Get(ctx, secretKey, secret); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			cert := secret.Data[corev1.TLSCertKey]
			return len(cert) > 0 && !bytes.Equal(cert, before), nil
		})
	}
	w.until(t, "the last authority is the only one", handedOver)
}

// forbidValidating takes away the right to write the validating configuration, until it is given back.
func forbidValidating(t *testing.T) (giveBack func()) {
	t.Helper()
	role := &rbacv1.ClusterRole{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "cinder-operator-webhook"}, role); err != nil {
		t.Fatal(err)
	}
	before := role.Rules
	role.Rules = nil
	for _, rule := range before {
		if rule.APIGroups[0] == admissionregistrationv1.GroupName {
			write := rule.DeepCopy()
			write.Verbs, write.Resources = []string{"patch"}, []string{"mutatingwebhookconfigurations"}
			role.Rules = append(role.Rules, *write)
			rule.Verbs = []string{"get", "list", "watch"}
		}
		role.Rules = append(role.Rules, rule)
	}
	if err := admin.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	allowed := func(ctx context.Context, want bool) error {
		return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
			config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: installation}}
			err := account.Patch(ctx, config, client.RawPatch(types.MergePatchType, []byte("{}")), client.DryRunAll)
			if err != nil && !apierrors.IsForbidden(err) {
				return false, err
			}
			return want == (err == nil), nil
		})
	}
	given := false
	giveBack = func() {
		if given {
			return
		}
		given = true
		ctx := context.WithoutCancel(t.Context())
		role.Rules = before
		if err := errors.Join(admin.Update(ctx, role), allowed(ctx, true)); err != nil {
			t.Fatalf("the right is not given back: %v", err)
		}
	}
	t.Cleanup(giveBack)
	if err := allowed(t.Context(), false); err != nil {
		t.Fatalf("the right is not taken away: %v", err)
	}
	return giveBack
}

func TestTheCertificateThatIsServedStaysUntilItsSuccessorIsTrusted(t *testing.T) {
	secret := settled(t)
	old := secret.Data["ca.crt"]
	giveBack := forbidValidating(t)
	delete(secret.Data, "ca.key")
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w, trusted := &witness{}, []byte(nil)
	w.until(t, "the mutating webhooks are trusted by both", func(ctx context.Context) (bool, error) {
		got, err := bundles(ctx)
		trusted = got[1]
		return !bytes.Equal(trusted, old) && bytes.HasSuffix(trusted, old), err
	})
	// The new one would be presented by then.
	end := time.Now().Add(3 * time.Second)
	w.until(t, "it would have settled", func(context.Context) (bool, error) { return time.Now().After(end), nil })
	if now := certificateSecret(t); now.ResourceVersion != secret.ResourceVersion {
		t.Error("the Secret was written before its authority was trusted")
	}
	if got, err := bundles(t.Context()); err != nil || !bytes.Equal(got[0], old) || !bytes.Equal(got[1], trusted) {
		t.Errorf("every try makes one more authority: %v", err)
	}
	giveBack()
	w.until(t, "the new authority is the only one", func(ctx context.Context) (bool, error) {
		done, err := handedOver(ctx)
		return done && !bytes.Equal(certificateSecret(t).Data["ca.crt"], old), err
	})
	if got := certificateSecret(t).Data["ca.crt"]; !bytes.HasPrefix(trusted, got) {
		t.Error("another authority was handed over to than the one that was trusted first")
	}
}

func TestWhereNothingGoodIsServedTheCertificateWaitsForNoConfiguration(t *testing.T) {
	secret := settled(t)
	giveBack := forbidValidating(t)
	cert, key := ended(t, secret)
	delete(secret.Data, "ca.key")
	secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey] = cert, key
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		return !bytes.Equal(certificateSecret(t).Data[corev1.TLSCertKey], cert), nil
	})
	if err != nil {
		t.Fatalf("the certificate is not made anew: %v", err)
	}
	giveBack()
	healed(t, cert)
}
