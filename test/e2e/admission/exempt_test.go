// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// asOperator is a client that the API server takes for the operator, with the rights to create anything.
func asOperator(t *testing.T) client.Client {
	t.Helper()
	config := rest.CopyConfig(lab.Hub.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:c5c3-system:cinder-operator", Groups: []string{"system:masters"}}
	c, err := client.New(config, client.Options{Scheme: harness.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// unwelcome are objects of each kind that only the webhooks have something against.
func unwelcome(namespace string) []client.Object {
	cinder := harness.Cinder(namespace, "unwelcome", "")
	cinder.Spec.ExtraConfig = map[string]map[string]string{"database": {"connection": "x"}}
	backend := harness.Backend(cinder, "unwelcome")
	backend.Spec.ExtraOptions = map[string]string{"backend_host": "x"}
	backup := harness.BackupBackend(cinder, "unwelcome")
	backup.Spec.ExtraOptions = map[string]string{"host": "x"}
	out := []client.Object{cinder, backend, backup}
	for _, obj := range out {
		obj.SetFinalizers([]string{"example.org/one", "example.org/two"})
	}
	return out
}

func TestNeitherTheOperatorNorADeletionIsKeptWaiting(t *testing.T) {
	namespace := lab.Namespace(t, "exempt")
	operator := lab.StartWithWebhooks(t, "--namespace", "nowhere")
	lab.Hub.Apply(t, "config", "webhook", "manifests.yaml")
	lab.WebhooksAnswer(t, time.Minute)
	account := asOperator(t)

	for _, obj := range unwelcome(namespace) {
		if err := lab.Hub.Client.Create(t.Context(), obj.DeepCopyObject().(client.Object)); len(harness.Causes(err)) == 0 {
			t.Fatalf("the webhooks have nothing against %T: %v", obj, err)
		}
		if err := account.Create(t.Context(), obj); err != nil {
			t.Fatalf("the operator is kept from creating a %T: %v", obj, err)
		}
		if c, ok := obj.(*v1alpha1.Cinder); ok && (c.Spec.API != nil || c.Spec.Logging != nil) {
			t.Error("what the operator wrote was filled in")
		}
		labelled := obj.DeepCopyObject().(client.Object)
		labelled.SetLabels(map[string]string{"a": "b"})
		if err := lab.Hub.Client.Update(t.Context(), labelled.DeepCopyObject().(client.Object)); len(harness.Causes(err)) == 0 {
			t.Errorf("a label of a %T that breaks a rule can be changed: %v", obj, err)
		}
		if err := account.Update(t.Context(), labelled); err != nil {
			t.Errorf("the operator is kept from changing a %T: %v", obj, err)
		}
		generation := labelled.GetGeneration()
		labelled.SetFinalizers([]string{"example.org/one"})
		if err := lab.Hub.Client.Update(t.Context(), labelled); err != nil {
			t.Errorf("the removal of a finalizer from a %T is refused: %v", obj, err)
		}
		if labelled.GetGeneration() != generation {
			t.Errorf("the removal of a finalizer changed the spec of a %T", obj)
		}
	}

	// From here on nobody serves the webhooks, and they fail closed.
	operator.Stop(t)
	harness.Eventually(t, time.Minute, "everybody else is refused", func(ctx context.Context) error {
		if err := lab.Hub.Client.Create(ctx, harness.Cinder(namespace, "welcome", ""), client.DryRunAll); err != nil {
			return nil
		}
		return errors.New("a Cinder is let in that nobody looked at")
	})
	for _, obj := range unwelcome(namespace) {
		key := client.ObjectKeyFromObject(obj)
		lab.Hub.Get(t, key, obj)
		obj.SetAnnotations(map[string]string{"a": "b"})
		if err := account.Update(t.Context(), obj); err != nil {
			t.Errorf("the operator waits for itself with a %T: %v", obj, err)
		}
		if err := lab.Hub.Client.Delete(t.Context(), obj); err != nil {
			t.Errorf("the deletion of a %T waits for the webhooks: %v", obj, err)
		}
		lab.Hub.Get(t, key, obj)
		if obj.GetDeletionTimestamp() == nil {
			t.Fatalf("the %T is not being deleted", obj)
		}
		obj.SetFinalizers(nil)
		if err := lab.Hub.Client.Update(t.Context(), obj); err != nil {
			t.Errorf("the last finalizer of a %T waits for the webhooks: %v", obj, err)
		}
		lab.Hub.WaitGone(t, time.Minute, obj)
	}
}
