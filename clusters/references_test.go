// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds of every API server stand in for those of other operators: one with a namespace, one without.
var (
	gvkNamespace = corev1.SchemeGroupVersion.WithKind("Namespace")
	gvkClaim     = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
)

func withReferences(o *Options) { o.References = []schema.GroupVersionKind{gvkNamespace, gvkClaim} }

func TestAReferenceIsCachedWithItsStatusAlone(t *testing.T) {
	f := newFleet(t, withReferences)
	for name, admin := range map[string]client.Client{"": hubAdmin, "edge": targetAdmin} {
		target := f.Hub()
		if name != "" {
			f.register(name, kubeconfig(t, targetConfig, ""))
			target = f.connected(name)
		}
		ns := newNamespace(t, admin)
		var got *unstructured.Unstructured
		eventually(t, 10*time.Second, func(ctx context.Context) error {
			if f.saw(name, ns, false) == 0 {
				return errNotYet
			}
			var err error
			got, err = Reference(ctx, target, gvkNamespace, types.NamespacedName{Name: ns})
			return err
		})
		if phase, _, _ := unstructured.NestedString(got.Object, "status", "phase"); phase != "Active" {
			t.Errorf("on %s the status is %v", target, got.Object["status"])
		}
		if _, ok := got.Object["spec"]; ok || len(got.GetLabels()) != 0 || len(got.GetManagedFields()) != 0 || got.GetUID() == "" {
			t.Errorf("on %s is kept %v", target, got.Object)
		}
		_, err := Reference(t.Context(), target, gvkClaim, types.NamespacedName{Namespace: ns, Name: "absent"})
		if !apierrors.IsNotFound(err) {
			t.Errorf("on %s an absent object: %v", target, err)
		}
	}
}

func TestAReferenceThatMayNotBeReadSaysSo(t *testing.T) {
	f := newFleet(t, withReferences)
	ns := newNamespace(t, targetAdmin)
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limited"}}
	if err := targetAdmin.Create(t.Context(), sa); err != nil {
		t.Fatal(err)
	}
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(tokenOf(t, sa))))
	target := f.connected("edge")
	key := types.NamespacedName{Name: ns}
	if _, err := Reference(t.Context(), target, gvkNamespace, key); !apierrors.IsForbidden(err) {
		t.Fatalf("without any right: %v", err)
	}

	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "references-" + ns}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: sa.Name}},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := targetAdmin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	// What may be read but not watched is read live.
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		_, err := Reference(ctx, target, gvkNamespace, key)
		return err
	})
	role.Rules[0].Verbs = []string{"list", "watch"}
	if err := targetAdmin.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	eventually(t, 15*time.Second, func(ctx context.Context) error {
		if f.saw("edge", ns, false) == 0 {
			return errNotYet
		}
		_, err := Reference(ctx, target, gvkNamespace, key)
		return err
	})
}

func TestAReferenceThatMovesOnWithoutAChangeIsNoNews(t *testing.T) {
	f := newFleet(t, withReferences)
	f.register("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t, targetAdmin), Name: "claim"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	ns := &corev1.Namespace{}
	if err := targetAdmin.Get(t.Context(), types.NamespacedName{Name: claim.Namespace}, ns); err != nil {
		t.Fatal(err)
	}
	if err := targetAdmin.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	// The first read opens the namespace.
	if _, err := Reference(t.Context(), target, gvkClaim, client.ObjectKeyFromObject(claim)); err != nil {
		t.Fatal(err)
	}
	told := func(name string, want int) {
		t.Helper()
		eventually(t, 10*time.Second, func(context.Context) error {
			if n := f.saw("edge", name, false); n != want {
				return fmt.Errorf("%s was told of %d times, want %d", name, n, want)
			}
			return nil
		})
	}
	told(claim.Name, 1)
	told(ns.Name, 1)
	for _, obj := range []client.Object{claim, ns} {
		for i := range 5 {
			obj.SetLabels(map[string]string{"moves": fmt.Sprint(i)})
			if err := targetAdmin.Update(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
	}
	claim.Status.Phase = corev1.ClaimBound
	ns.Status.Conditions = []corev1.NamespaceCondition{{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue}}
	for _, obj := range []client.Object{claim, ns} {
		if err := targetAdmin.Status().Update(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		told(obj.GetName(), 2)
	}
}
