// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// repairTimeout is far below every poll of the operator: only the watch on the
// target can have told it.
const repairTimeout = 5 * time.Second

func TestDriftOnATargetIsRepaired(t *testing.T) {
	edge := lab.Targets["edge-1"]
	lab.Register(t, "edge-1", edge)
	ns := lab.Namespace(t, "drift", edge)
	lab.StartOperator(t)
	cinder := harness.Cinder(ns, "cinder", "edge-1")
	lab.Deploy(t, cinder)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }

	for _, child := range []client.Object{
		&appsv1.Deployment{ObjectMeta: named("cinder")},
		&appsv1.Deployment{ObjectMeta: named("cinder-scheduler")},
		&appsv1.Deployment{ObjectMeta: named("cinder-volume-cinder-nfs")},
		&appsv1.Deployment{ObjectMeta: named("cinder-backup")},
		&corev1.Service{ObjectMeta: named("cinder")},
		&policyv1.PodDisruptionBudget{ObjectMeta: named("cinder")},
		&batchv1.CronJob{ObjectMeta: named("cinder-db-purge")},
		&corev1.Secret{ObjectMeta: named("cinder-db-connection")},
		&corev1.Secret{ObjectMeta: named("cinder-transport-url")},
	} {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", child), "*v1.") + " " + child.GetName()
		t.Run(kind+" deleted comes back", func(t *testing.T) {
			old := child.DeepCopyObject().(client.Object)
			edge.Get(t, client.ObjectKeyFromObject(child), old)
			edge.Delete(t, old.DeepCopyObject().(client.Object))
			now := child.DeepCopyObject().(client.Object)
			harness.Eventually(t, repairTimeout, kind, func(ctx context.Context) error {
				if err := edge.Client.Get(ctx, client.ObjectKeyFromObject(child), now); err != nil {
					return err
				}
				if now.GetUID() == old.GetUID() {
					return fmt.Errorf("the old one is still there, deleted at %v", now.GetDeletionTimestamp())
				}
				return nil
			})
		})
		t.Run(kind+" stripped of its labels gets them back", func(t *testing.T) {
			live := child.DeepCopyObject().(client.Object)
			edge.Get(t, client.ObjectKeyFromObject(child), live)
			want := live.GetLabels()
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`))
			if err := edge.Client.Patch(t.Context(), live, patch); err != nil {
				t.Fatal(err)
			}
			uid := live.GetUID()
			harness.Eventually(t, repairTimeout, kind, func(ctx context.Context) error {
				if err := edge.Client.Get(ctx, client.ObjectKeyFromObject(child), live); err != nil {
					return err
				}
				for k, v := range want {
					if live.GetLabels()[k] != v {
						return fmt.Errorf("label %s is %q, want %q", k, live.GetLabels()[k], v)
					}
				}
				if live.GetUID() != uid {
					t.Fatalf("the object was made anew instead of labelled")
				}
				return nil
			})
		})
	}

	t.Run("an edited field of a Deployment", func(t *testing.T) {
		d := &appsv1.Deployment{ObjectMeta: named("cinder-scheduler")}
		harness.Change(t, edge, d, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "registry.example.org/evil" })
		harness.Eventually(t, repairTimeout, "the image", func(ctx context.Context) error {
			if err := edge.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
				return err
			}
			if got := d.Spec.Template.Spec.Containers[0].Image; got != "registry.example.org/openstack/cinder:2026.1" {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
	})
	t.Run("edited data of a Secret", func(t *testing.T) {
		s := &corev1.Secret{ObjectMeta: named("cinder-db-connection")}
		edge.Get(t, client.ObjectKeyFromObject(s), s)
		want := string(s.Data["connection"])
		harness.Change(t, edge, s, func(s *corev1.Secret) { s.Data["connection"] = []byte("mysql+pymysql://elsewhere") })
		harness.Eventually(t, repairTimeout, "the connection", func(ctx context.Context) error {
			if err := edge.Client.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
				return err
			}
			if string(s.Data["connection"]) != want {
				return fmt.Errorf("it is still edited")
			}
			return nil
		})
	})
	t.Run("a changed input rolls the pods that read it", func(t *testing.T) {
		const annotation = "cinder.c5c3.io/db-connection-hash"
		d := &appsv1.Deployment{ObjectMeta: named("cinder")}
		edge.Get(t, client.ObjectKeyFromObject(d), d)
		before := d.Spec.Template.Annotations[annotation]
		if before == "" {
			t.Fatalf("the API pods carry no %s", annotation)
		}
		s := &corev1.Secret{ObjectMeta: named("cinder-db")}
		harness.Change(t, edge, s, func(s *corev1.Secret) { s.Data["password"] = []byte("rotated") })
		harness.Eventually(t, repairTimeout, annotation, func(ctx context.Context) error {
			if err := edge.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
				return err
			}
			if d.Spec.Template.Annotations[annotation] == before {
				return fmt.Errorf("it did not change")
			}
			return nil
		})
	})
}

func TestAForeignObjectOfTheSameNameIsRefusedByNameAndUntouched(t *testing.T) {
	edge := lab.Targets["edge-2"]
	lab.Register(t, "edge-2", edge)
	ns := lab.Namespace(t, "foreign", edge)
	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "cinder", Namespace: ns},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "other"}},
	}
	edge.Create(t, foreign)
	op := lab.StartOperator(t)
	cinder := harness.Cinder(ns, "cinder", "edge-2")
	lab.Deploy(t, cinder)
	lab.WaitFor(t, harness.ReadyTimeout, cinder,
		harness.Want{Type: v1alpha1.ConditionDeploymentReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonReconcileError, Message: "Service foreign/cinder"},
		harness.Want{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse},
	)
	// A condition is True, False or Unknown here, and the metric says the same.
	harness.Eventually(t, 10*time.Second, "the conditions in a scrape", func(ctx context.Context) error {
		if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(cinder), cinder); err != nil {
			return err
		}
		return op.Scrape(t).ConditionsTold(cinder)
	})
	for typ, want := range map[string]float64{v1alpha1.ConditionSecretsReady: 1, v1alpha1.ConditionReady: 0, v1alpha1.ConditionDeploymentReady: -1} {
		if got := op.Scrape(t).OfCinder(cinder).Of("cinder_operator_cinder_condition", "type", typ, "target_cluster", "edge-2"); len(got) != 1 || got[0].Value != want {
			t.Errorf("the series of %s is %v, want %v", typ, got, want)
		}
	}
	live := &corev1.Service{}
	edge.Get(t, client.ObjectKeyFromObject(foreign), live)
	if live.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the foreign Service was written: %+v", live)
	}

	edge.Delete(t, live)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)

	t.Run("and is never swept", func(t *testing.T) {
		kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cinder-config-notes", Namespace: ns}}
		edge.Create(t, kept)
		lab.Hub.Delete(t, cinder)
		lab.Hub.WaitGone(t, harness.ReadyTimeout, cinder)
		edge.WaitNoChildren(t, harness.ReadyTimeout, cinder)
		edge.Get(t, client.ObjectKeyFromObject(kept), kept)
	})
}
