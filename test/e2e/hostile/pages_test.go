// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// The informers of the cluster are synchronised and stay so: what it never ends are
// the lists of a sweep and of the count of orphans.
func TestASweepThatAClusterNeverEndsHoldsNoWorker(t *testing.T) {
	// freed is how long one sweep may hold the only worker there is.
	const freed = 75 * time.Second
	home, edge := lab.Targets["edge-1"], lab.Targets["edge-2"]
	ns := lab.Namespace(t, "endless", home, edge)
	proxy := edge.Proxy(t)
	lab.Register(t, "home", home)
	lab.Register(t, "edge", edge, harness.With(proxy.Kubeconfig(t)))
	op := lab.StartOperator(t, append(harness.QuickProbes(), "--max-concurrent-reconciles=1")...)
	fine, doomed := harness.Cinder(ns, "fine", "home"), harness.Cinder(ns, "doomed", "edge")
	lab.Deploy(t, fine)
	lab.Deploy(t, doomed)
	lab.WaitReady(t, harness.ReadyTimeout, fine)
	lab.WaitReady(t, harness.ReadyTimeout, doomed)

	var pages atomic.Int64
	proxy.Override(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || isWatch(r) || r.URL.Query().Get("limit") == "" || !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1","continue":"%d"},"items":[]}`, pages.Add(1))
		return true
	})
	if err := lab.Hub.Client.Delete(t.Context(), doomed); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.ReadyTimeout, "a sweep", func(context.Context) error {
		if pages.Load() == 0 {
			return errors.New("no page was asked for")
		}
		return nil
	})
	began := time.Now()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fine.Name}}
	home.Delete(t, s.DeepCopy())
	harness.Eventually(t, freed, "drift on the other cluster is repaired", func(ctx context.Context) error {
		return home.Client.Get(ctx, client.ObjectKeyFromObject(s), s)
	})
	t.Logf("the worker was free after %s", time.Since(began).Round(time.Millisecond))
	harness.Eventually(t, freed, "the Cinder says why it stays", func(ctx context.Context) error {
		if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(doomed), doomed); err != nil {
			return err
		}
		c := meta.FindStatusCondition(doomed.Status.Conditions, v1alpha1.ConditionSecretsReady)
		if c == nil || !strings.Contains(c.Message, "the cluster lists more than is read of it at one go") {
			return fmt.Errorf("%s is %+v", v1alpha1.ConditionSecretsReady, c)
		}
		return nil
	})
	t.Logf("%d pages were read", pages.Load())
	if n := op.Scrape(t).Sum("go_memstats_heap_inuse_bytes") / (1 << 20); n > heap {
		t.Errorf("the operator's heap is %.0f MiB, want at most %d", n, heap)
	}
	proxy.Override(nil)
	lab.Hub.WaitGone(t, 2*harness.ReadyTimeout, doomed)
	edge.WaitNoChildren(t, harness.ReadyTimeout, doomed)
}
