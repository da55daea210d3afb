// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

func TestForgedOwnershipWakesNobodyElseAndIsNeitherTouchedNorSwept(t *testing.T) {
	home, edge := lab.Targets["edge-1"], lab.Targets["edge-2"]
	ns := lab.Namespace(t, "forged", home, edge)
	other := lab.Namespace(t, "forged-elsewhere", edge)
	op := lab.StartOperator(t)
	lab.Register(t, "home", home)
	lab.Register(t, "edge", edge)
	victim, tenant := harness.Cinder(ns, "victim", "home"), harness.Cinder(ns, "tenant", "edge")
	lab.Deploy(t, victim)
	lab.Deploy(t, tenant)
	lab.WaitReady(t, harness.ReadyTimeout, victim)
	lab.WaitReady(t, harness.ReadyTimeout, tenant)

	hub := string(lab.Hub.UID(t))
	forged := func(in, name, owner, ownerNamespace, hub string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name, Labels: map[string]string{
			"openstack.c5c3.io/owner-kind": "Cinder", "openstack.c5c3.io/owner-name": owner,
			"openstack.c5c3.io/owner-namespace": ownerNamespace, "openstack.c5c3.io/owner-hub": hub,
		}}}
	}
	yes := true
	referring := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owned-by-reference", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "cinder.openstack.c5c3.io/v1alpha1", Kind: "Cinder", Name: victim.Name, UID: victim.UID, Controller: &yes,
	}}}}
	objs := []*corev1.ConfigMap{
		forged(ns, "victims", victim.Name, ns, hub),                 // of a Cinder that lives on another cluster
		forged(other, "tenants-elsewhere", tenant.Name, ns, hub),    // outside the owner's namespace
		forged(other, "tenants-displaced", tenant.Name, other, hub), // of a Cinder that does not exist
		forged(ns, "of-another-hub", tenant.Name, ns, "another-hub"),
		referring,
	}
	passes := func() float64 { return op.Scrape(t).Sum("controller_runtime_reconcile_total", "controller", "cinder") }
	// The last passes of becoming Ready may still be on their way.
	rests(t, passes)
	hubMark, homeMark, edgeMark := lab.Hub.Mark(t), home.Mark(t), edge.Mark(t)
	// Poking at them gives no way to time the passes of others.
	const pokes = 40
	began, quietly := time.Now(), passes()
	for _, obj := range objs {
		edge.Create(t, obj)
	}
	for i := range pokes {
		for _, obj := range objs {
			obj.Data = map[string]string{"poke": fmt.Sprint(i)}
			if err := edge.Client.Update(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
	}
	harness.Consistently(t, 2*time.Second, "the forged objects wake nobody", func(context.Context) error {
		n := passes() - quietly
		// Each of the two Cinders has a pass in half a minute by itself, wherever
		// in that time it stands now.
		if allowed := 2 * (1 + math.Floor(time.Since(began).Seconds()/25)); n > allowed {
			return fmt.Errorf("%.0f passes after %d events, want at most %.0f", n, pokes*len(objs), allowed)
		}
		return nil
	})
	for _, r := range append(hubMark.Writes(t), homeMark.Writes(t)...) {
		t.Errorf("the forged objects cost a write: %s %s", r.Verb, r.RequestURI)
	}

	t.Run("a child that is rightly labelled does wake its owner", func(t *testing.T) {
		before := passes()
		own := forged(ns, "tenants", tenant.Name, ns, hub)
		edge.Create(t, own)
		harness.Eventually(t, 5*time.Second, "a pass", func(context.Context) error {
			if passes() == before {
				return fmt.Errorf("none")
			}
			return nil
		})
		edge.Delete(t, own)
	})

	lab.Hub.Delete(t, tenant)
	lab.Hub.WaitGone(t, harness.ReadyTimeout, tenant)
	for _, obj := range objs {
		now := &corev1.ConfigMap{}
		edge.Get(t, client.ObjectKeyFromObject(obj), now)
		if now.UID != obj.UID || now.ResourceVersion != obj.ResourceVersion || !maps.Equal(now.Labels, obj.Labels) {
			t.Errorf("ConfigMap %s/%s was touched: %+v", obj.Namespace, obj.Name, now)
		}
	}
	for _, r := range edgeMark.Writes(t) {
		if r.ObjectRef.Namespace != ns || !strings.HasPrefix(r.ObjectRef.Name, tenant.Name) {
			t.Errorf("written outside what the Cinder says: %s %s", r.Verb, r.RequestURI)
		}
	}
}

// rests waits until a counter has stood still for a while. What a Cinder at rest
// does by itself, it does once in half a minute.
func rests(t *testing.T, count func() float64) {
	t.Helper()
	const still = 5 * time.Second
	last, since := count(), time.Now()
	harness.Eventually(t, harness.ReadyTimeout, "passes come to rest", func(context.Context) error {
		if now := count(); now != last {
			last, since = now, time.Now()
		}
		if at := time.Since(since); at < still {
			return fmt.Errorf("the last one was %s ago", at)
		}
		return nil
	})
}
