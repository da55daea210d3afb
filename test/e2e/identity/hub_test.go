// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

func TestARebuiltHubWithItsOldIdentityTakesItsChildrenOver(t *testing.T) {
	edge := lab.Targets["edge-1"]
	rebuilt := lab.AsHub(t, lab.Targets["edge-3"])
	ns := lab.Namespace(t, "rebuilt", edge)
	rebuilt.Namespace(t, ns)
	id := string(lab.Hub.UID(t))
	op := lab.StartOperator(t, quick...)
	lab.Register(t, "edge-1", edge)
	old := deploy(t, lab, harness.Cinder(ns, "cinder", "edge-1"))
	before := children(t, edge, old)
	op.Stop(t)
	// The old hub is lost: nothing there is swept any more.
	for _, obj := range []client.Object{old, harness.Backend(old, "cinder-nfs"), harness.BackupBackend(old, "cinder-backups")} {
		if err := lab.Hub.Client.Patch(t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Fatal(err)
		}
		lab.Hub.Delete(t, obj)
	}

	rebuilt.Register(t, "edge-1", edge)
	rebuilt.StartOperator(t, append([]string{"--hub-id=" + id}, quick...)...)
	cinder := deploy(t, rebuilt, harness.Cinder(ns, "cinder", "edge-1"))
	same(t, edge, cinder, before)
	if got := cinder.Status.TargetCluster; got == nil || got.UID != string(edge.UID(t)) {
		t.Errorf("status.targetCluster is %+v", got)
	}

	s := &corev1.Service{}
	s.Namespace, s.Name = ns, "cinder"
	edge.Delete(t, s.DeepCopy())
	harness.Eventually(t, 10*time.Second, "the deleted Service is back", func(ctx context.Context) error {
		return edge.Client.Get(ctx, keyOf(s), s)
	})
	if got := s.Labels["openstack.c5c3.io/owner-hub"]; got != id {
		t.Errorf("the Service carries the hub %q, want %q", got, id)
	}
	rebuilt.Hub.Delete(t, cinder.DeepCopy())
	rebuilt.Hub.WaitGone(t, time.Minute, cinder)
	edge.WaitNoChildren(t, 30*time.Second, cinder)
}

func TestTwoHubsOnOneTargetNeverTouchEachOthersChildren(t *testing.T) {
	edge := lab.Targets["edge-1"]
	other := lab.AsHub(t, lab.Targets["edge-3"])
	shared, ours, theirs := lab.Namespace(t, "shared", edge), lab.Namespace(t, "ours", edge), "theirs"
	other.Namespace(t, shared)
	other.Namespace(t, theirs, edge)
	lab.StartOperator(t, quick...)
	other.StartOperator(t, quick...)
	lab.Register(t, "edge-1", edge)
	other.Register(t, "edge-1", edge)
	id := string(lab.Hub.UID(t))

	first := deploy(t, lab, harness.Cinder(shared, "cinder", "edge-1"))
	before := children(t, edge, first)
	versions := resourceVersions(t, edge, shared)

	t.Run("in one namespace the second one fails and names the first", func(t *testing.T) {
		second := harness.Cinder(shared, "cinder", "edge-1")
		other.Deploy(t, second)
		harness.Eventually(t, 30*time.Second, "the second Cinder names the first hub", func(ctx context.Context) error {
			if err := other.Hub.Client.Get(ctx, keyOf(second), second); err != nil {
				return err
			}
			for _, c := range second.Status.Conditions {
				if strings.Contains(c.Message, id) && strings.Contains(c.Message, shared+"/cinder") {
					return nil
				}
			}
			return fmt.Errorf("the conditions are %v", second.Status.Conditions)
		})
		lab.HoldsFor(t, holdFor, first, harness.Want{Type: v1alpha1.ConditionReady, Status: "True"})
		same(t, edge, first, before)

		other.Hub.Delete(t, second.DeepCopy())
		other.Hub.WaitGone(t, time.Minute, second)
		same(t, edge, first, before)
		lab.HoldsFor(t, holdFor, first, harness.Want{Type: v1alpha1.ConditionReady, Status: "True"})
		for name, version := range resourceVersions(t, edge, shared) {
			if was, known := versions[name]; known && was != version {
				t.Errorf("%s was written: %s, then %s", name, was, version)
			}
		}
		lab.WaitReady(t, time.Second, first)
	})
	t.Run("in two namespaces both are Ready and leave each other alone", func(t *testing.T) {
		mine, yours := harness.Cinder(ours, "cinder", "edge-1"), harness.Cinder(theirs, "cinder", "edge-1")
		lab.Deploy(t, mine)
		other.Deploy(t, yours)
		lab.WaitReady(t, 2*harness.ReadyTimeout, mine)
		other.WaitReady(t, 2*harness.ReadyTimeout, yours)
		there := children(t, edge, yours)

		lab.Hub.Delete(t, mine.DeepCopy())
		lab.Hub.WaitGone(t, time.Minute, mine)
		edge.WaitNoChildren(t, 30*time.Second, mine)
		same(t, edge, yours, there)
		same(t, edge, first, before)

		other.Hub.Delete(t, yours.DeepCopy())
		other.Hub.WaitGone(t, time.Minute, yours)
		edge.WaitNoChildren(t, 30*time.Second, yours)
		same(t, edge, first, before)
		lab.WaitReady(t, 10*time.Second, first)
	})
	t.Run("when the first of one namespace goes, the second takes its place", func(t *testing.T) {
		second := harness.Cinder(shared, "cinder", "edge-1")
		other.Deploy(t, second)
		harness.Eventually(t, 30*time.Second, "the second Cinder is refused", func(ctx context.Context) error {
			if err := other.Hub.Client.Get(ctx, keyOf(second), second); err != nil {
				return err
			}
			for _, c := range second.Status.Conditions {
				if strings.Contains(c.Message, id) {
					return nil
				}
			}
			return fmt.Errorf("the conditions are %v", second.Status.Conditions)
		})
		lab.Hub.Delete(t, first.DeepCopy())
		lab.Hub.WaitGone(t, time.Minute, first)
		other.WaitReady(t, 2*harness.ReadyTimeout, second)
		for name, uid := range children(t, edge, second) {
			if before[name] == uid {
				t.Errorf("%s of the first hub is still there", name)
			}
		}
	})
}

// resourceVersions are those of the Secrets and ConfigMaps in a namespace, which
// nothing but a writer moves.
func resourceVersions(t *testing.T, c *harness.Cluster, namespace string) map[string]string {
	t.Helper()
	secrets, configs := &corev1.SecretList{}, &corev1.ConfigMapList{}
	if err := errors.Join(c.Client.List(t.Context(), secrets, client.InNamespace(namespace)), c.Client.List(t.Context(), configs, client.InNamespace(namespace))); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range secrets.Items {
		out["Secret "+s.Name] = s.ResourceVersion
	}
	for _, m := range configs.Items {
		out["ConfigMap "+m.Name] = m.ResourceVersion
	}
	return out
}
