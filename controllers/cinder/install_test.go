// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/projection"
)

// listed are the kinds a Cinder without options has children of.
func listed() []client.ObjectList {
	return []client.ObjectList{
		&appsv1.DeploymentList{}, &batchv1.JobList{}, &batchv1.CronJobList{}, &corev1.ServiceList{},
		&corev1.SecretList{}, &corev1.ConfigMapList{}, &policyv1.PodDisruptionBudgetList{},
	}
}

// ownedIn lists the children of the test's Cinder on a cluster.
func (f *fixture) ownedIn(ctx context.Context, c client.Client) ([]client.Object, error) {
	var all []client.Object
	for _, list := range listed() {
		if err := c.List(ctx, list, client.InNamespace(f.ns), client.HasLabels{projection.LabelOwnerHub}); err != nil {
			return nil, err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if obj, ok := item.(client.Object); ok {
				all = append(all, obj)
			}
		}
	}
	return all, nil
}

func TestACinderOnTheHubBecomesReady(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.install()
	cr := f.get()

	for _, typ := range append(v1alpha1.CinderSubConditions(), v1alpha1.ConditionReady, v1alpha1.ConditionExtraConfigHealthy) {
		c := meta.FindStatusCondition(cr.Status.Conditions, typ)
		if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != cr.Generation {
			t.Errorf("condition %s is %+v", typ, c)
		}
	}
	if cr.Status.InstalledRelease != "2026.1" || cr.Status.ObservedGeneration != cr.Generation {
		t.Errorf("status is %+v", cr.Status)
	}
	if want := fmt.Sprintf("http://cinder.%s.svc.cluster.local:8776", f.ns); cr.Status.Endpoint != want {
		t.Errorf("endpoint is %q, want %q", cr.Status.Endpoint, want)
	}
	if s := cr.Status.VolumeServices; len(s) != 1 || s[0] != (v1alpha1.VolumeServiceStatus{Backend: "nfs-a", Host: "cinder@nfs-a"}) {
		t.Errorf("volume services are %v", s)
	}
	if len(cr.Finalizers) != 1 || cr.Finalizers[0] != v1alpha1.FinalizerCinder {
		t.Errorf("finalizers are %v", cr.Finalizers)
	}
	children, err := f.ownedIn(t.Context(), suite.hub)
	if err != nil {
		t.Fatal(err)
	}
	if len(children) == 0 {
		t.Error("there are no children")
	}
	for _, child := range children {
		if owner := metav1.GetControllerOf(child); owner == nil || owner.UID != cr.UID {
			t.Errorf("%T %s is owned by %v", child, child.GetName(), owner)
		}
	}
	f.awaitEvent("DatabaseSynced")
}

func TestChildrenLandOnTheTargetAndGoWithTheCinder(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.install()
	cr := f.get()

	var system corev1.Namespace
	if err := suite.edge.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		t.Fatal(err)
	}
	if got := cr.Status.TargetCluster; got == nil || got.Name != f.target || got.UID != string(system.UID) {
		t.Errorf("target cluster is %+v, want %s with UID %s", got, f.target, system.UID)
	}
	if children, err := f.ownedIn(t.Context(), suite.hub); err != nil || len(children) != 0 {
		t.Errorf("the hub has %d children, error %v", len(children), err)
	}
	children, err := f.ownedIn(t.Context(), suite.edge)
	if err != nil {
		t.Fatal(err)
	}
	if len(children) < 13 {
		t.Errorf("the target has only %d children", len(children))
	}
	for _, child := range children {
		if len(child.GetOwnerReferences()) != 0 {
			t.Errorf("%T %s carries owner references on the target", child, child.GetName())
		}
	}

	f.removeCinder()
	f.awaitEvent("DatabaseFinalized")
	f.eventually("an empty target", func(ctx context.Context) error {
		left, err := f.ownedIn(ctx, suite.edge)
		if err != nil {
			return err
		}
		for _, child := range left {
			if child.GetDeletionTimestamp() == nil {
				return fmt.Errorf("%T %s is left", child, child.GetName())
			}
		}
		return nil
	})
}

func TestACinderIsRegisteredForLater(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.secrets()
	f.cinder()
	message := f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	if want := fmt.Sprintf("target cluster %q is not registered in namespace %q", f.target, clustersNamespace); len(message) < len(want) || message[:len(want)] != want {
		t.Errorf("message is %q, want it to start with %q", message, want)
	}
	cr := f.get()
	if len(cr.Finalizers) != 0 {
		t.Errorf("an unresolved Cinder carries %v", cr.Finalizers)
	}
	for _, typ := range v1alpha1.CinderSubConditions()[1:] {
		c := meta.FindStatusCondition(cr.Status.Conditions, typ)
		if c == nil || c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonPending {
			t.Errorf("condition %s is %+v, want Unknown/Pending", typ, c)
		}
	}
	if children, err := f.ownedIn(t.Context(), suite.edge); err != nil || len(children) != 0 {
		t.Errorf("the target has %d children, error %v", len(children), err)
	}

	f.register("edge")
	f.awaitChild(&batchv1.Job{}, "cinder-db-sync")
	if got := f.get().Finalizers; len(got) != 2 {
		t.Errorf("finalizers are %v", got)
	}
}

func TestALostRegistrationLeavesChildrenAndConditionsAlone(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	registration := f.register("edge")
	f.install()
	before := f.get()
	if err := suite.hub.Delete(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	after := f.get()
	for _, typ := range v1alpha1.CinderSubConditions()[1:] {
		was, is := meta.FindStatusCondition(before.Status.Conditions, typ), meta.FindStatusCondition(after.Status.Conditions, typ)
		if *was != *is {
			t.Errorf("condition %s went from %+v to %+v", typ, was, is)
		}
	}
	if children, err := f.ownedIn(t.Context(), suite.edge); err != nil || len(children) < 13 {
		t.Errorf("the target has %d children, error %v", len(children), err)
	}
	f.register("edge")
	f.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady)
}

func TestAnotherClusterBehindAKnownNameIsHeldUntilAccepted(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	registration := f.register("edge")
	f.secrets()
	f.cinder()
	f.awaitChild(&batchv1.Job{}, "cinder-db-sync")
	f.eventually("the identity of the cluster", func(context.Context) error {
		if f.get().Status.TargetCluster == nil {
			return fmt.Errorf("status is %+v", f.get().Status)
		}
		return nil
	})
	former := f.get().Status.TargetCluster.UID

	// The hub's own API server is as good another cluster as any.
	if err := suite.hub.Delete(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	f.register("hub")
	var system corev1.Namespace
	if err := suite.hub.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		t.Fatal(err)
	}
	f.eventually("both UIDs in the message", func(context.Context) error {
		message := f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
		return contains(message, former, string(system.UID))
	})
	if children, err := f.ownedIn(t.Context(), suite.hub); err != nil || len(children) != 0 {
		t.Errorf("the other cluster got %d children, error %v", len(children), err)
	}

	cr := f.get()
	cr.Annotations = map[string]string{v1alpha1.AnnotationAcceptCluster: string(system.UID)}
	if err := suite.hub.Update(t.Context(), cr); err != nil {
		t.Fatal(err)
	}
	message := f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDBCredentials)
	if err := contains(message, "db"); err != nil {
		t.Error(err)
	}
	if err := contains(f.awaitEvent("RemoteChildrenAbandoned"), former, "Deployment cinder"); err != nil {
		t.Error(err)
	}
	if got := f.get().Status.TargetCluster.UID; got != string(system.UID) {
		t.Errorf("the identity is still %s", got)
	}
}

func TestADeletedCinderWaitsForItsClusterUntilToldToAbandon(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	registration := f.register("edge")
	f.secrets()
	cr := f.cinder()
	f.awaitChild(&batchv1.Job{}, "cinder-db-sync")
	if err := suite.hub.Delete(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable)
	if err := suite.hub.Delete(t.Context(), cr); err != nil {
		t.Fatal(err)
	}
	f.eventually("the condition to say that the deletion waits", func(context.Context) error {
		c := meta.FindStatusCondition(f.get().Status.Conditions, v1alpha1.ConditionSecretsReady)
		return contains(c.Message, "deletion waits", v1alpha1.AnnotationAbandonChildren)
	})
	f.removeCinder()
	if err := contains(f.awaitEvent("RemoteChildrenAbandoned"), f.target, f.ns, "Job cinder-db-sync"); err != nil {
		t.Error(err)
	}
	err := suite.edge.Get(t.Context(), client.ObjectKey{Namespace: f.ns, Name: "cinder-db-sync"}, &batchv1.Job{})
	if apierrors.IsNotFound(err) {
		t.Error("the abandoned Job is gone")
	}
}
