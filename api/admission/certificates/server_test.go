// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/tls"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const settle = 10 * time.Second

func newCertificate(t *testing.T) *Certificate {
	t.Helper()
	c, err := New(Options{Namespace: "ns", Name: "name", Timing: Timing{Settle: settle}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// presents compares what a connection that is opened now meets, with all that goes along.
func presents(t *testing.T, c *Certificate, want *tls.Certificate, when string) {
	t.Helper()
	config := &tls.Config{}
	c.Configure(config)
	got, err := config.GetCertificate(nil)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if !slices.EqualFunc(got.Certificate, want.Certificate, bytes.Equal) {
		t.Errorf("%s another certificate is presented", when)
	}
}

// copied is the same certificate as it is read once more.
func copied(pair *tls.Certificate) *tls.Certificate {
	out := *pair
	out.Certificate = slices.Clone(pair.Certificate)
	return &out
}

func TestACertificateOfAPreviousAuthorityIsPresentedUntilTheNewOneHasSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, old, another := newCertificate(t), newAuthority(t), newAuthority(t)
		first, second := old.server(t, day), newAuthority(t).server(t, day)
		c.serve(first, nil)
		presents(t, c, first, "at the beginning")

		previous := slices.Concat(another.pem(), old.pem())
		c.serve(second, previous)
		presents(t, c, first, "at once")
		time.Sleep(settle - time.Second)
		presents(t, c, first, "shortly before the end")
		c.serve(copied(second), previous)
		time.Sleep(time.Second - time.Nanosecond)
		presents(t, c, first, "just before the end")
		time.Sleep(time.Nanosecond)
		presents(t, c, second, "at the end, although the Secret was read once more,")
		c.serve(copied(second), previous)
		presents(t, c, second, "after the Secret was read again")
	})
}

func TestACertificateIsPresentedAtOnceWhereNothingGoodIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, ended := newAuthority(t), issue(t, "authority", nil, true, -time.Minute)
		for name, tt := range map[string]struct {
			first    *tls.Certificate
			previous []byte
		}{
			"no previous authority":             {old.server(t, day), nil},
			"the authority is not the previous": {old.server(t, day), newAuthority(t).pem()},
			"what is no certificate":            {old.server(t, day), []byte("nonsense")},
			"it has ended":                      {old.server(t, -time.Minute), old.pem()},
			"its authority has ended":           {ended.server(t, day), ended.pem()},
		} {
			c, second := newCertificate(t), newAuthority(t).server(t, day)
			c.serve(tt.first, nil)
			c.serve(second, tt.previous)
			presents(t, c, second, name+":")
		}
	})
}

// The second one was waiting still: not every API server has heard of its authority.
func TestACertificateThatWaitsIsNotPresentedBecauseAThirdOneComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, one, two := newCertificate(t), newAuthority(t), newAuthority(t)
		first, second, third := one.server(t, day), two.server(t, day), newAuthority(t).server(t, day)
		c.serve(first, nil)
		c.serve(second, one.pem())
		time.Sleep(settle / 2)
		c.serve(third, slices.Concat(two.pem(), one.pem()))
		presents(t, c, first, "at once")
		time.Sleep(settle - time.Nanosecond)
		presents(t, c, first, "just before the end")
		time.Sleep(time.Nanosecond)
		presents(t, c, third, "at the end")

		fourth := newAuthority(t).server(t, day)
		c.serve(fourth, two.pem())
		presents(t, c, fourth, "when the authority of the third is not trusted")
	})
}

func TestAChainThatIsCompletedIsPresented(t *testing.T) {
	root := newAuthority(t)
	between := issue(t, "between", root, true, day)
	leaf := issue(t, "server", between, false, day)
	c := newCertificate(t)
	c.serve(leaf.presented(), nil)
	c.serve(leaf.presented(between), nil)
	presents(t, c, leaf.presented(between), "after the chain was completed")
}

func TestACertificateIsOfAPreviousAuthorityByWayOfItsChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := newAuthority(t)
		between := issue(t, "between", root, true, day)
		first := issue(t, "server", between, false, day).presented(between)
		second := newAuthority(t).server(t, day)
		c := newCertificate(t)
		c.serve(first, nil)
		c.serve(second, root.pem())
		presents(t, c, first, "at once")
		time.Sleep(settle)
		presents(t, c, second, "at the end")
	})
}
