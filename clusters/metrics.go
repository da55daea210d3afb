// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// clusterMetrics are the series of target clusters. Those of a cluster go when it is deregistered.
type clusterMetrics struct {
	up         *prometheus.GaugeVec
	probes     *prometheus.HistogramVec
	reconnects *prometheus.CounterVec
	requests   *prometheus.CounterVec
	cached     *prometheus.GaugeVec
}

func newClusterMetrics(to prometheus.Registerer) (*clusterMetrics, error) {
	m := &clusterMetrics{
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cinder_operator_target_cluster_up",
			Help: "Whether the registered cluster is connected.",
		}, []string{"cluster", "source"}),
		probes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cinder_operator_target_cluster_probe_duration_seconds",
			Help:    "How long probes of the cluster's API server took.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"cluster"}),
		reconnects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cinder_operator_target_cluster_reconnects_total",
			Help: "Connections made after the first one, by why they were made.",
		}, []string{"cluster", "reason"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cinder_operator_target_cluster_requests_total",
			Help: "Requests to the cluster's API server, by HTTP method or WATCH, and by status code or error.",
		}, []string{"cluster", "verb", "code"}),
		cached: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cinder_operator_target_cluster_cached_objects",
			Help: "Objects of the cluster in memory, as of the last good probe, by kind; what is held as metadata alone is named KindMetadata.",
		}, []string{"cluster", "kind"}),
	}
	if to == nil {
		return m, nil
	}
	for _, err := range []error{register(to, &m.up), register(to, &m.probes), register(to, &m.reconnects), register(to, &m.requests), register(to, &m.cached)} {
		if err != nil {
			return nil, fmt.Errorf("register the metrics of target clusters: %w", err)
		}
	}
	return m, nil
}

// register registers *c, or takes the collector of the same name that is registered already: a process may make a second
// registry after the first one has ended.
func register[T prometheus.Collector](to prometheus.Registerer, c *T) error {
	err := to.Register(*c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		have, ok := already.ExistingCollector.(T)
		if !ok {
			return err
		}
		*c = have
		return nil
	}
	return err
}

func (m *clusterMetrics) setUp(cluster string, source v1alpha1.TargetClusterSource, up bool) {
	value := 0.0
	if up {
		value = 1
	}
	for _, other := range precedence {
		if other != source {
			m.up.DeleteLabelValues(cluster, string(other))
		}
	}
	m.up.WithLabelValues(cluster, string(source)).Set(value)
}

func (m *clusterMetrics) probed(cluster string, took time.Duration) {
	m.probes.WithLabelValues(cluster).Observe(took.Seconds())
}

func (m *clusterMetrics) reconnected(cluster, why string) {
	m.reconnects.WithLabelValues(cluster, why).Inc()
}

func (m *clusterMetrics) request(cluster, verb, code string) {
	m.requests.WithLabelValues(cluster, verb, code).Inc()
}

// setCached replaces the counts of a cluster, of which before were the last ones.
func (m *clusterMetrics) setCached(cluster string, held, before map[string]int) {
	for kind := range before {
		if _, still := held[kind]; !still {
			m.cached.DeleteLabelValues(cluster, kind)
		}
	}
	for kind, n := range held {
		m.cached.WithLabelValues(cluster, kind).Set(float64(n))
	}
}

func (m *clusterMetrics) forget(cluster string) {
	of := prometheus.Labels{"cluster": cluster}
	m.up.DeletePartialMatch(of)
	m.probes.DeletePartialMatch(of)
	m.reconnects.DeletePartialMatch(of)
	m.requests.DeletePartialMatch(of)
	m.cached.DeletePartialMatch(of)
}
