// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

func metricOf(name string) string { return "cinder_operator_target_cluster_" + name }

const writesTotal = "cinder_operator_projected_writes_total"

func TestTheLifeOfARegistrationIsToldInMetricsAndEvents(t *testing.T) {
	edge := lab.Targets["edge-1"]
	ns := lab.Namespace(t, "told", edge)
	op := lab.StartOperator(t, quick...)
	reg := lab.Register(t, "edge-1", edge)
	cinder := harness.Cinder(ns, "cinder", "edge-1")
	backend, backups := lab.Deploy(t, cinder)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)
	lab.WaitTold(t, 10*time.Second, reg, "ClusterConnected")

	harness.Eventually(t, 10*time.Second, "the series of a cluster that serves", func(context.Context) error {
		m := op.Scrape(t)
		for _, series := range []struct {
			name   string
			labels []string
			least  float64
		}{
			{metricOf("up"), []string{"source", "Secret"}, 1},
			{metricOf("probe_duration_seconds_count"), nil, 2},
			{metricOf("requests_total"), []string{"verb", "PATCH", "code", "201"}, 10},
			{metricOf("requests_total"), []string{"verb", "WATCH", "code", "200"}, 5},
			{metricOf("cached_objects"), []string{"kind", "Deployment"}, 4},
			{metricOf("cached_objects"), []string{"kind", "Service"}, 1},
			{metricOf("cached_objects"), []string{"kind", "SecretMetadata"}, 2},
			{writesTotal, []string{"kind", "Deployment", "operation", "create"}, 4},
			{writesTotal, []string{"kind", "Job", "operation", "create"}, 1},
		} {
			if got := m.Sum(series.name, append(series.labels, "cluster", "edge-1")...); got < series.least {
				return fmt.Errorf("%s%v is %v, want at least %v", series.name, series.labels, got, series.least)
			}
		}
		if n := m.Sum(metricOf("reconnects_total"), "cluster", "edge-1"); n != 0 {
			return fmt.Errorf("%v reconnects", n)
		}
		return nil
	})

	harness.Change(t, lab.Hub, reg, func(s *corev1.Secret) { s.Data[v1alpha1.RegistrationKeyKubeconfig] = []byte("no: kubeconfig") })
	lab.WaitTold(t, 10*time.Second, reg, "ClusterRefused")
	if up := op.Scrape(t).Of(metricOf("up"), "cluster", "edge-1"); len(up) != 1 || up[0].Value != 0 {
		t.Errorf("a refused registration has %v", up)
	}

	lab.Hub.Delete(t, reg.DeepCopy())
	lab.WaitTold(t, 10*time.Second, reg, "ClusterDisconnected")
	harness.Eventually(t, 10*time.Second, "the series go with the registration", func(context.Context) error {
		for _, s := range op.Scrape(t) {
			if s.Labels()["cluster"] == "edge-1" {
				return fmt.Errorf("%s%v is still there", s.Name, s.Labels())
			}
		}
		return nil
	})
	// While a registration is there the Cinder can go.
	lab.Register(t, "edge-1", edge)
	for _, obj := range []client.Object{backend, backups, cinder} {
		lab.Remove(t, obj)
	}
}
