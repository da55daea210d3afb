// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// refuseToRemember makes the hub refuse every new annotation that remembers a Job
// of the Cinder, and waits until it does. What is returned ends it.
func (f *fixture) refuseToRemember() func() {
	f.Helper()
	const says = "no Job is remembered"
	name := "forgetful-" + f.ns
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.ns}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"cinders"}},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: "!has(object.metadata.annotations) || object.metadata.annotations.all(key, !key.endsWith('-job-uid') || " +
					"has(oldObject.metadata.annotations) && key in oldObject.metadata.annotations && " +
					"object.metadata.annotations[key] == oldObject.metadata.annotations[key])",
				Message: says,
			}},
		},
	}
	f.create(suite.hub, policy)
	f.create(suite.hub, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	})
	end := func() {
		for _, obj := range []client.Object{
			&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}, policy,
		} {
			if err := client.IgnoreNotFound(suite.hub.Delete(context.Background(), obj)); err != nil {
				f.Error(err)
			}
		}
	}
	f.Cleanup(end)
	f.eventually("the annotations to be refused", func(ctx context.Context) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"cinder.c5c3.io/last-job-uid":"any"}}}`))
		err := suite.hub.Patch(ctx, f.get(), patch, client.DryRunAll)
		if err == nil {
			return errors.New("one is admitted")
		}
		return contains(err.Error(), says)
	})
	return end
}

func TestAJobThatCannotBeRememberedIsComplainedOfOnce(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	admit := f.refuseToRemember()
	f.backend("nfs-a")
	f.backupBackend("nfs-b")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()
	f.passes()
	f.awaitOneEvent("DBSyncEmissionDeferred", corev1.EventTypeWarning, "cinder-db-sync", "is told later", "no Job is remembered")
	if list := f.events("DatabaseSynced"); len(list) > 0 {
		t.Errorf("a Job that is not remembered was told of: %+v", list)
	}

	admit()
	f.awaitOneEvent("DatabaseSynced", corev1.EventTypeNormal)
	f.passes()
	f.awaitOneEvent("DBSyncEmissionDeferred", corev1.EventTypeWarning)
}

func TestADetachWhoseJobCannotBeRememberedPromisesNothing(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder()
	b := f.heldBackend("nfs-a")
	f.endJob("cinder-db-sync", true)
	f.awaitReady()
	f.refuseToRemember()
	f.deleteBackend(b)
	f.collect("cinder-volume-nfs-a")
	f.endJob("cinder-nfs-a-service-remove", true)
	f.awaitReleased(b)
	f.awaitOneEvent("ServiceRemoveEmissionDeferred", corev1.EventTypeWarning, "cinder-nfs-a-service-remove", "is not told", "no Job is remembered")
	if note := f.awaitEvent("ServiceRemoveEmissionDeferred"); strings.Contains(note, "later") {
		t.Errorf("%q promises what nobody can keep", note)
	}
	if list := f.events("ServiceRemoved"); len(list) > 0 {
		t.Errorf("a Job that is not remembered was told of: %+v", list)
	}
}
