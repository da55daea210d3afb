// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/projection"
)

const orphansMetric = "cinder_operator_orphaned_children"

// orphans reads the count on the test's target, and whether there is one.
func (f *fixture) orphans() (int, bool) {
	f.Helper()
	families, err := suite.metrics.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != orphansMetric {
			continue
		}
		for _, m := range family.GetMetric() {
			if l := m.GetLabel(); len(l) == 1 && l[0].GetValue() == f.target {
				return int(m.GetGauge().GetValue()), true
			}
		}
	}
	return 0, false
}

func (f *fixture) awaitOrphans(want int) {
	f.Helper()
	f.eventually(fmt.Sprintf("%d orphans", want), func(context.Context) error {
		if got, counted := f.orphans(); !counted || got != want {
			return fmt.Errorf("%d, counted is %v", got, counted)
		}
		return nil
	})
}

func TestChildrenWithoutACinderAreCountedWhenTheirClusterConnectsAndNeverDeleted(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	var system corev1.Namespace
	if err := suite.hub.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		t.Fatal(err)
	}
	child := func(name, owner, kind string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.ns, Labels: map[string]string{
			projection.LabelOwnerKind: kind, projection.LabelOwnerName: owner, projection.LabelOwnerNamespace: f.ns,
			projection.LabelOwnerHub: string(system.UID),
		}}}
	}
	left := []*corev1.ConfigMap{child("left-1", "gone", v1alpha1.KindCinder), child("left-2", "gone", v1alpha1.KindCinder)}
	for _, c := range left {
		f.create(suite.edge, c)
	}
	f.create(suite.edge, child("kept", cinderName, v1alpha1.KindCinder))
	f.create(suite.edge, child("foreign", "gone", "Nova"))
	other := child("another-hub", "gone", v1alpha1.KindCinder)
	other.Labels[projection.LabelOwnerHub] = "another"
	f.create(suite.edge, other)
	f.cinder()

	limited := func() *corev1.Secret {
		s := f.register("edge")
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"stringData":{"namespaces":%q}}`, f.ns))
		if err := suite.hub.Patch(t.Context(), s, patch); err != nil {
			t.Fatal(err)
		}
		return s
	}
	registration := limited()
	f.awaitOrphans(2)

	if err := suite.hub.Delete(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	f.eventually("no count of a cluster that is not registered", func(context.Context) error {
		if n, counted := f.orphans(); counted {
			return fmt.Errorf("it is %d", n)
		}
		return nil
	})
	if err := suite.edge.Delete(t.Context(), left[0]); err != nil {
		t.Fatal(err)
	}
	limited()
	f.awaitOrphans(1)

	if err := suite.edge.Get(t.Context(), client.ObjectKeyFromObject(left[1]), left[1]); err != nil || left[1].DeletionTimestamp != nil {
		t.Errorf("the orphan was deleted: %v", err)
	}
}
