// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"time"
)

// Names of what belongs to an installation's webhooks, besides the configurations, which have its own name.
const (
	serviceSuffix = "-webhook"
	secretSuffix  = "-webhook-certificate"
)

// Options say whose certificate is served.
type Options struct {
	// Namespace is where the Secret and the webhooks' Service are. It is required.
	Namespace string
	// Name is the name of the two webhook configurations. The Service is named after it with -webhook, the Secret with
	// -webhook-certificate. It is required.
	Name string
	// Rotate keeps the Secret and the authority in the webhook configurations. Without it something else does.
	Rotate bool
	// ExtraNames are further DNS names that a kept certificate is good for, such as localhost.
	ExtraNames []string
	// Timing is for tests; its zero value is meant for everybody else.
	Timing Timing
}

// Timing says how long certificates last.
type Timing struct {
	// Authority and Certificate are how long they are good for: 10 years and 1 year.
	Authority, Certificate time.Duration
	// Lookahead is how long before its end each is renewed: 90 days.
	Lookahead time.Duration
	// Interval is the time between two looks at Secret and configurations, of which changes are noticed at once: one
	// minute.
	Interval time.Duration
	// Handover is how long the API server is told to trust the authorities before the present one, too: 10 minutes.
	Handover time.Duration
	// Settle is how long a certificate of such an authority goes on being served, so that every API server has heard of the
	// new authority when it meets it: 10 seconds.
	Settle time.Duration
}

const day = 24 * time.Hour

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value *time.Duration
		unset time.Duration
	}{
		{&o.Timing.Authority, 10 * 365 * day},
		{&o.Timing.Certificate, 365 * day},
		{&o.Timing.Lookahead, 90 * day},
		{&o.Timing.Interval, time.Minute},
		{&o.Timing.Handover, 10 * time.Minute},
		{&o.Timing.Settle, 10 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.unset
		}
	}
	return o
}

// SecretName is the name of the Secret that holds the certificate, under tls.crt and tls.key.
func (o Options) SecretName() string { return o.Name + secretSuffix }

// ServiceName is the name of the Service that the API server reaches the webhooks through.
func (o Options) ServiceName() string { return o.Name + serviceSuffix }

// host is the name that the API server verifies.
func (o Options) host() string { return o.ServiceName() + "." + o.Namespace + ".svc" }

func (o Options) names() []string {
	return append([]string{o.host(), o.host() + ".cluster.local"}, o.ExtraNames...)
}
