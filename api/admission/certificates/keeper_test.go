// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/tls"
	"slices"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
)

func newKeeper(t *testing.T, served *tls.Certificate) *keeper {
	t.Helper()
	k := &keeper{Certificate: newCertificate(t)}
	if served != nil {
		k.serve(served, nil)
	}
	return k
}

func trusting(bundles ...[]byte) []configuration {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	for _, bundle := range bundles {
		config.Webhooks = append(config.Webhooks, admissionregistrationv1.MutatingWebhook{
			ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: bundle},
		})
	}
	return []configuration{{"MutatingWebhookConfiguration", config}}
}

// renewed is what becomes of a Secret, and whether it waits for the configurations.
func renewed(t *testing.T, k *keeper, secret *corev1.Secret, configs []configuration, all bool) (_ *corev1.Secret, holds bool) {
	t.Helper()
	out, err := k.renew(secret, configs, all)
	if err != nil {
		t.Fatal(err)
	}
	if out.what == "" || !k.valid(secret, time.Now()) {
		t.Fatalf("the Secret holds no good certificate afterwards: %q", out.what)
	}
	return secret, out.holds
}

func TestOfWhatTheConfigurationsTrustAFewAuthoritiesStayAboveAllTheOneThatIsMet(t *testing.T) {
	authorities := make([]*issued, 2*mostBefore)
	bundle := []byte("nonsense\n")
	for i := range authorities {
		authorities[i] = newAuthority(t)
		bundle = append(bundle, authorities[i].pem()...)
	}
	ended := issue(t, "authority", nil, true, -time.Minute)
	last := authorities[len(authorities)-1]
	k := newKeeper(t, last.server(t, day))
	configs := trusting(slices.Concat(ended.pem(), bundle), nil, bundle)

	secret, holds := renewed(t, k, &corev1.Secret{}, configs, true)
	if !holds {
		t.Error("the certificate that is served is given up before the new authority is trusted")
	}
	want := slices.Concat(last.pem(), authorities[0].pem(), authorities[1].pem(), authorities[2].pem())
	if got := secret.Data[keyPrevious]; !bytes.Equal(got, want) {
		t.Errorf("%d authorities are kept, or others than the one that is met and the first ones", len(parsed(got)))
	}

	// It was trusted, but not written.
	again, _ := renewed(t, k, &corev1.Secret{}, trusting(slices.Concat(secret.Data[keyAuthority], secret.Data[keyPrevious])), true)
	if !bytes.Equal(again.Data[keyAuthority], secret.Data[keyAuthority]) {
		t.Error("the next try makes one more authority")
	}
	if !bytes.Equal(again.Data[keyPrevious], want) {
		t.Error("the next try takes others for the authorities before")
	}
}

func TestASecretWaitsForNoConfigurationWhileNothingGoodIsServed(t *testing.T) {
	old := newAuthority(t)
	good, ended := old.server(t, day), old.server(t, -time.Minute)
	withKeyLost := &corev1.Secret{Data: map[string][]byte{keyAuthority: old.pem()}}
	for name, tt := range map[string]struct {
		served      *tls.Certificate
		secret      *corev1.Secret
		configs     []configuration
		all         bool
		holds, kept bool
	}{
		"gone, and served still":                              {good, &corev1.Secret{}, trusting(old.pem()), true, true, true},
		"gone, and nothing is served":                         {nil, &corev1.Secret{}, trusting(old.pem()), true, false, true},
		"gone, and what is served has ended":                  {ended, &corev1.Secret{}, trusting(old.pem()), true, false, true},
		"gone, and nothing is trusted":                        {good, &corev1.Secret{}, trusting(nil), true, false, false},
		"gone, served, and not known what is trusted":         {good, &corev1.Secret{}, nil, false, true, false},
		"gone, ended, and not known what is trusted":          {ended, &corev1.Secret{}, nil, false, false, false},
		"gone, nothing served, and not known what is trusted": {nil, &corev1.Secret{}, nil, false, false, false},
		"the key is lost, and served still":                   {good, withKeyLost, nil, true, true, true},
		"the key is lost, and nothing is served":              {nil, withKeyLost, nil, true, false, true},
		"the key is lost, and what is served has ended":       {ended, withKeyLost, nil, true, false, true},
	} {
		secret, holds := renewed(t, newKeeper(t, tt.served), tt.secret.DeepCopy(), tt.configs, tt.all)
		if holds != tt.holds {
			t.Errorf("%s: it waits: %t, want %t", name, holds, tt.holds)
		}
		if tt.kept != bytes.Equal(secret.Data[keyPrevious], old.pem()) {
			t.Errorf("%s: the authorities before are %q", name, secret.Data[keyPrevious])
		}
	}
}

// An authority that was made long ago, and waited until it was trusted, is handed over for as long as any other.
func TestThePreviousAuthoritiesAreKeptForAWhileFromTheCertificateOn(t *testing.T) {
	old := newAuthority(t)
	k := newKeeper(t, old.server(t, day))
	maker := &rotator.CertRotator{CAName: authorityName, CAOrganization: organization}
	pending, err := maker.CreateCACert(time.Now().Add(-backdated-2*time.Hour), time.Now().Add(365*day))
	if err != nil {
		t.Fatal(err)
	}
	k.pending = pending
	secret, _ := renewed(t, k, &corev1.Secret{}, trusting(old.pem()), true)
	if !bytes.Equal(secret.Data[keyAuthority], pending.CertPEM) {
		t.Fatal("another authority was made")
	}
	for _, tt := range []struct {
		handover time.Duration
		kept     bool
	}{{time.Hour, true}, {time.Nanosecond, false}} {
		k.opts.Timing.Handover = tt.handover
		after := secret.DeepCopy()
		if _, err := k.renew(after, nil, true); err != nil {
			t.Fatal(err)
		}
		if kept := len(after.Data[keyPrevious]) > 0; kept != tt.kept {
			t.Errorf("after %s the authorities before are kept: %t, want %t", tt.handover, kept, tt.kept)
		}
	}
}
