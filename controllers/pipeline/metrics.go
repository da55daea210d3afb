// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the two vectors that cover a pipeline.
type Metrics struct {
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
}

// NewMetrics registers cinder_operator_reconcile_duration_seconds, labelled by
// sub_reconciler, and cinder_operator_reconcile_errors_total, labelled by
// sub_reconciler and condition_type.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cinder_operator_reconcile_duration_seconds",
			Help:    "Seconds that one step of a reconcile took.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2.5, 12),
		}, []string{"sub_reconciler"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cinder_operator_reconcile_errors_total",
			Help: "Steps that ended with an error.",
		}, []string{"sub_reconciler", "condition_type"}),
	}
	for _, c := range []prometheus.Collector{m.duration, m.errors} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register the pipeline's metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) observe(step string, seconds float64) {
	if m != nil {
		m.duration.WithLabelValues(step).Observe(seconds)
	}
}

func (m *Metrics) failed(step, condition string) {
	if m != nil {
		m.errors.WithLabelValues(step, condition).Inc()
	}
}
