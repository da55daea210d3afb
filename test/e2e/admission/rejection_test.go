// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"os"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

// With the webhooks every manifest is rejected; without them everything that the schema holds still is.
func TestTheCorporaAreRejectedWithTheWebhooksAndWithoutThem(t *testing.T) {
	all := loadCorpora(t)
	namespace := lab.Namespace(t, "corpora")
	// The operator leaves the objects of the corpora alone: what is under test is what lets them in.
	lab.StartWithWebhooks(t, "--namespace", "nowhere")
	lab.Hub.Apply(t, "config", "webhook", "manifests.yaml")
	lab.WebhooksAnswer(t, time.Minute)

	enabled, disabled := map[string][]answer{}, map[string][]answer{}
	for _, c := range all {
		enabled[c.folder] = collect(t, c, namespace)
		for i, r := range c.rejections {
			r.compare(t, enabled[c.folder][i])
		}
	}
	if !writing() {
		t.Run("by chainsaw, with the webhooks", func(t *testing.T) {
			chainsaw(t, "webhooks in (needed, unneeded)", corpora)
		})
	}

	withoutWebhooks(t)
	for _, c := range all {
		disabled[c.folder] = collect(t, c, namespace)
		for i, r := range c.rejections {
			if a := disabled[c.folder][i]; a.text != "" || len(r.rules) == 0 {
				r.compare(t, a)
			}
		}
		golden(t, c, suites(t, c, enabled[c.folder], disabled[c.folder]))
	}
	if writing() {
		t.Fatal("the suites were written; run the test again without UPDATE_GOLDEN")
	}
	t.Run("by chainsaw, without the webhooks", func(t *testing.T) {
		chainsaw(t, "webhooks=unneeded", corpora)
	})
}

// withoutWebhooks deletes every webhook configuration, and goes on only when the API server has none left.
func withoutWebhooks(t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: harness.WebhookName}
	lab.Hub.Delete(t, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta})
	lab.Hub.Delete(t, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta})
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfigurationList{}, &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	for _, list := range []client.ObjectList{mutating, validating} {
		if err := lab.Hub.Client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	if len(mutating.Items) != 0 || len(validating.Items) != 0 {
		t.Fatalf("there still are webhook configurations: %v, %v", mutating.Items, validating.Items)
	}
	// The API server reads its configurations from a cache.
	harness.Eventually(t, time.Minute, "the webhooks are not asked any more", func(ctx context.Context) error {
		probe := harness.BackupBackend(harness.Cinder("default", "not-asked", ""), "not-asked")
		probe.Spec.ExtraOptions = map[string]string{"host": "x"}
		return lab.Hub.Client.Create(ctx, probe, client.DryRunAll)
	})
}

func writing() bool { return os.Getenv("UPDATE_GOLDEN") != "" }
