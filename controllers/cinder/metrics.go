// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const (
	resultSucceeded = "succeeded"
	resultFailed    = "failed"
)

// jobMetrics are the collector pair of one kind of Job.
type jobMetrics struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newJobMetrics(name, what string) *jobMetrics {
	return &jobMetrics{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cinder_operator_" + name + "_total",
			Help: what + " that reached a terminal state, by result.",
		}, []string{"cinder", "namespace", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cinder_operator_" + name + "_duration_seconds",
			Help:    "Seconds from start to end of " + what + ".",
			Buckets: prometheus.ExponentialBuckets(1, 2, 13),
		}, []string{"cinder", "namespace"}),
	}
}

type metrics struct {
	dbSync, dbPurge, serviceRemove *jobMetrics

	condition *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		dbSync:        newJobMetrics("db_sync", "schema migrations"),
		dbPurge:       newJobMetrics("db_purge", "purges of soft-deleted rows"),
		serviceRemove: newJobMetrics("service_remove", "removals of detached backends from the service registry"),
		condition: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cinder_operator_cinder_condition",
			Help: "Conditions of a Cinder: 1 True, 0 False, -1 Unknown.",
		}, []string{"cinder", "namespace", "target_cluster", "type"}),
	}
	collectors := []prometheus.Collector{m.condition}
	for _, j := range m.jobs() {
		collectors = append(collectors, j.total, j.duration)
	}
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register the Cinder metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) jobs() []*jobMetrics { return []*jobMetrics{m.dbSync, m.dbPurge, m.serviceRemove} }

// observeConditions publishes the conditions as they were stored.
func (m *metrics) observeConditions(cr *v1alpha1.Cinder) {
	target := ""
	if ref := cr.Spec.TargetClusterRef; ref != nil {
		target = ref.Name
	}
	for _, c := range cr.Status.Conditions {
		value := map[metav1.ConditionStatus]float64{metav1.ConditionTrue: 1, metav1.ConditionFalse: 0}
		v, ok := value[c.Status]
		if !ok {
			v = -1
		}
		m.condition.WithLabelValues(cr.Name, cr.Namespace, target, c.Type).Set(v)
	}
}

// forget drops every series of one Cinder.
func (m *metrics) forget(key types.NamespacedName) {
	match := prometheus.Labels{"cinder": key.Name, "namespace": key.Namespace}
	for _, j := range m.jobs() {
		j.total.DeletePartialMatch(match)
		j.duration.DeletePartialMatch(match)
	}
	m.condition.DeletePartialMatch(match)
}
