// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// The operations of the counter of writes.
const (
	opCreate = "create"
	opUpdate = "update"
	opAdopt  = "adopt"
	opDelete = "delete"
)

// newWritesCounter counts what was written to a cluster. An apply that changed
// nothing is no write. The hub's cluster label is empty, as its name is.
func newWritesCounter(reg prometheus.Registerer) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cinder_operator_projected_writes_total",
		Help: "Writes of child objects, by the cluster they live on (empty: the hub), kind and operation (create, update, adopt, delete).",
	}, []string{"cluster", "kind", "operation"})
	if reg == nil {
		return c
	}
	var known prometheus.AlreadyRegisteredError
	if err := reg.Register(c); errors.As(err, &known) {
		if existing, ok := known.ExistingCollector.(*prometheus.CounterVec); ok {
			return existing
		}
	}
	return c
}

func (s *Scope) countWrite(ref Ref, operation string) {
	s.p.writes.WithLabelValues(s.target.Name(), ref.GroupVersionKind.Kind, operation).Inc()
}
