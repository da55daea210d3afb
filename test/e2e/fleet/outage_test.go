// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

func keyOf(obj client.Object) client.ObjectKey { return client.ObjectKeyFromObject(obj) }

// healTimeout is the promise: a cluster that returns is served within it.
const healTimeout = 15 * time.Second

func TestATargetThatGoesAndComesBack(t *testing.T) {
	edge := lab.Targets["edge-1"]
	ns := lab.Namespace(t, "outage", edge)
	op := lab.StartOperator(t) // the default figures
	reg := lab.Register(t, "edge-1", edge)
	cinder := harness.Cinder(ns, "cinder", "edge-1")
	lab.Deploy(t, cinder)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)
	before, err := edge.Children(t.Context(), cinder)
	if err != nil {
		t.Fatal(err)
	}
	seen := conditionsBut(cinder, v1alpha1.ConditionSecretsReady, v1alpha1.ConditionReady)

	mark := edge.Mark(t)
	lab.Run(t, "kill", "edge-1")
	back := false
	t.Cleanup(func() {
		if !back {
			lab.Run(t, "start", "edge-1")
		}
	})
	lab.WaitFor(t, 90*time.Second, cinder,
		unavailable(`target cluster "edge-1" is unreachable since `),
		harness.Want{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse},
	)
	if now := conditionsBut(cinder, v1alpha1.ConditionSecretsReady, v1alpha1.ConditionReady); now != seen {
		t.Errorf("a lost target changed what was last seen:\n%s\nwas\n%s", now, seen)
	}
	// A Cinder tells at once of a call that failed; the cluster is called
	// unreachable after five probes, 10 s apart.
	lab.WaitFor(t, 90*time.Second, mirror("edge-1"), harness.Want{Type: v1alpha1.ConditionConnected, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnreachable})
	lab.WaitTold(t, 10*time.Second, reg, "ClusterUnreachable")
	lost := op.Scrape(t)
	if up := lost.Of(metricOf("up"), "cluster", "edge-1", "source", "Secret"); len(up) != 1 || up[0].Value != 0 {
		t.Errorf("/metrics does not say that edge-1 is down: %v", up)
	}
	if held := lost.Of(metricOf("cached_objects"), "cluster", "edge-1"); len(held) > 0 {
		t.Errorf("objects of a lost cluster are held: %v", held)
	}
	if lost.Sum(metricOf("requests_total"), "cluster", "edge-1", "code", "error") == 0 {
		t.Error("no failed request is counted")
	}

	lab.Run(t, "start", "edge-1")
	back = true
	lab.WaitReady(t, healTimeout, cinder)
	healed := op.Scrape(t)
	if healed.Sum(metricOf("up"), "cluster", "edge-1") != 1 || healed.Sum(metricOf("reconnects_total"), "cluster", "edge-1", "reason", "Unreachable") != 1 {
		t.Errorf("/metrics does not tell of one reconnect: %v", healed.Of(metricOf("reconnects_total")))
	}
	if after, err := edge.Children(t.Context(), cinder); err != nil || strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("children were %v, are %v (%v)", before, after, err)
	}
	for _, r := range mark.Writes(t) {
		t.Errorf("the outage cost a write: %s %s", r.Verb, r.RequestURI)
	}
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cinder"}}
	edge.Delete(t, s.DeepCopy())
	harness.Eventually(t, 5*time.Second, "the deleted Service is back", func(ctx context.Context) error {
		return edge.Client.Get(ctx, keyOf(s), s)
	})
}

func TestABlackHoleDelaysNothingOnTheOtherTarget(t *testing.T) {
	healthy, hole := lab.Targets["edge-1"], lab.Targets["edge-2"]
	for _, kind := range []string{"tcp", "tls"} {
		t.Run(kind, func(t *testing.T) {
			ns := lab.Namespace(t, "hole-"+kind, healthy, hole)
			lab.Run(t, "black-hole", "edge-2", "--kind", kind)
			t.Cleanup(func() { lab.Run(t, "start", "edge-2") })
			lab.Register(t, "edge-2", hole)
			lab.Register(t, "edge-1", healthy)
			// One worker: were it to wait for the hole, nothing else would move.
			lab.StartOperator(t, append([]string{"--max-concurrent-reconciles=1"}, quick...)...)
			stuck, fine := harness.Cinder(ns, "stuck", "edge-2"), harness.Cinder(ns, "fine", "edge-1")
			lab.Deploy(t, stuck)
			lab.Deploy(t, fine)
			start := time.Now()
			lab.WaitReady(t, harness.ReadyTimeout, fine)
			t.Logf("Ready beside a %s hole after %s", kind, time.Since(start).Round(time.Millisecond))
			lab.WaitFor(t, 30*time.Second, stuck, unavailable(`target cluster "edge-2" is `))
			if have, err := healthy.Children(t.Context(), stuck); err != nil || len(have) > 0 {
				t.Errorf("edge-1 has %v of the other's Cinder (%v)", have, err)
			}
		})
	}
}

func TestATargetThatTurnsIntoABlackHoleMidLifeIsNoticedAndHeals(t *testing.T) {
	edge := lab.Targets["edge-2"]
	ns := lab.Namespace(t, "hang", edge)
	lab.StartOperator(t, quick...)
	lab.Register(t, "edge-2", edge)
	cinder := harness.Cinder(ns, "cinder", "edge-2")
	lab.Deploy(t, cinder)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)
	lab.Run(t, "pause", "edge-2")
	resumed := false
	t.Cleanup(func() {
		if !resumed {
			lab.Run(t, "resume", "edge-2")
		}
	})
	lab.WaitFor(t, 60*time.Second, cinder, unavailable(`target cluster "edge-2" is unreachable since `))
	lab.Run(t, "resume", "edge-2")
	resumed = true
	lab.WaitReady(t, healTimeout, cinder)
}

func TestARestartedOperatorWritesNothingOverAHealthyFleet(t *testing.T) {
	edge := lab.Targets["edge-1"]
	ns := lab.Namespace(t, "restart", edge)
	lab.Register(t, "edge-1", edge)
	op := lab.StartOperator(t)
	cinder := harness.Cinder(ns, "cinder", "edge-1")
	lab.Deploy(t, cinder)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)
	suite := t // the operator outlives the case that starts it
	for _, how := range []struct {
		name string
		end  func()
	}{
		{"stopped", func() { op.Stop(t) }},
		{"killed", func() { op.Kill() }},
	} {
		t.Run(how.name, func(t *testing.T) {
			how.end()
			before, seen := versions(t, ns, edge), conditionsBut(cinder)
			hub := lab.Hub.Mark(t)
			op = lab.StartOperator(suite)
			lab.HoldsFor(t, 15*time.Second, cinder, harness.Want{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue})
			// A first apply after a start is a request that changes nothing, so it is
			// the objects that tell.
			if after := versions(t, ns, edge); !maps.Equal(after, before) {
				t.Errorf("a restart changed objects:\n%v\nare now\n%v", before, after)
			}
			for _, r := range hub.Writes(t) {
				if r.ObjectRef.Resource != "events" { // ClusterConnected is said once per start
					t.Errorf("a restart wrote on the hub: %s %s; conditions were\n%sare\n%s", r.Verb, r.RequestURI, seen, conditionsBut(cinder))
				}
			}
		})
	}
}

func TestDeletionWaitsForATargetThatIsAwayAndThenLeavesNothing(t *testing.T) {
	edge := lab.Targets["edge-2"]
	ns := lab.Namespace(t, "deletion", edge)
	lab.StartOperator(t, quick...)
	lab.Register(t, "edge-2", edge)
	cinder := harness.Cinder(ns, "cinder", "edge-2")
	lab.Deploy(t, cinder)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)
	lab.Run(t, "kill", "edge-2")
	lab.WaitFor(t, 60*time.Second, cinder, unavailable("unreachable"))
	lab.Hub.Delete(t, cinder.DeepCopy())
	harness.Consistently(t, 5*time.Second, "a Cinder whose target is away stays", func(ctx context.Context) error {
		if err := lab.Hub.Client.Get(ctx, keyOf(cinder), cinder); err != nil {
			return err
		}
		c := meta.FindStatusCondition(cinder.Status.Conditions, v1alpha1.ConditionSecretsReady)
		if c.Reason != v1alpha1.ReasonTargetClusterUnavailable {
			return fmt.Errorf("SecretsReady says %s: %s", c.Reason, c.Message)
		}
		return nil
	})
	lab.Run(t, "start", "edge-2")
	lab.Hub.WaitGone(t, 30*time.Second, cinder)
	edge.WaitNoChildren(t, 30*time.Second, cinder)
}

// versions are the resourceVersions of the CRs of a namespace, the fleet's
// mirrors, and the children on a target.
func versions(t *testing.T, ns string, target *harness.Cluster) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(c *harness.Cluster, list client.ObjectList, opts ...client.ListOption) {
		if err := c.Client.List(t.Context(), list, opts...); err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			obj := o.(client.Object)
			out[fmt.Sprintf("%s: %T %s", c.Name, obj, keyOf(obj))] = obj.GetResourceVersion()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	in := client.InNamespace(ns)
	add(lab.Hub, &v1alpha1.CinderList{}, in)
	add(lab.Hub, &v1alpha1.CinderBackendList{}, in)
	add(lab.Hub, &v1alpha1.CinderBackupBackendList{}, in)
	add(lab.Hub, &v1alpha1.TargetClusterList{})
	for _, list := range harness.ChildLists() {
		add(target, list, in)
	}
	if len(out) < 15 {
		t.Fatalf("too little to compare: %v", out)
	}
	return out
}

func conditionsBut(c *v1alpha1.Cinder, but ...string) string {
	out := ""
	for _, cond := range c.Status.Conditions {
		if !strings.Contains(" "+strings.Join(but, " ")+" ", " "+cond.Type+" ") {
			out += fmt.Sprintf("%s=%s %s %s %s\n", cond.Type, cond.Status, cond.Reason, cond.LastTransitionTime.UTC().Format(time.RFC3339), cond.Message)
		}
	}
	return out
}
