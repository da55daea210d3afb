// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"c5c3.io/cinder-operator/api/admission"
	"c5c3.io/cinder-operator/api/v1alpha1"
)

// patchOf is what the defaulting of a Cinder answers to a document, as "op path".
func patchOf(t *testing.T, document, old string) []string {
	t.Helper()
	d := defaulter[*v1alpha1.Cinder]{
		empty: func() *v1alpha1.Cinder { return &v1alpha1.Cinder{} },
		fill:  admission.DefaultCinder,
		spec:  func(obj *v1alpha1.Cinder) any { return obj.Spec },
	}
	req := crwebhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte(document)}}}
	if old != "" {
		req.OldObject.Raw = []byte(old)
	}
	response := d.Handle(t.Context(), req)
	if !response.Allowed {
		t.Fatalf("the defaulting refuses %s: %v", document, response.Result)
	}
	var out []string
	for _, p := range response.Patches {
		out = append(out, p.Operation+" "+p.Path)
	}
	return out
}

func TestWhatIsMissingOrOfAnotherTypeIsLeftForTheSchemaToTell(t *testing.T) {
	for name, document := range map[string]string{
		"an object without a spec":              `{"metadata":{"name":"a"}}`,
		"an option that is a number":            `{"spec":{"extraConfig":{"DEFAULT":{"debug":true}}}}`,
		"a quantity that is none":               `{"spec":{"api":{"deployment":{"resources":{"limits":{"cpu":"much"}}}}}}`,
		"a block that is a text":                `{"spec":{"cache":"memcached"}}`,
		"a spec that is a list":                 `{"spec":[]}`,
		"an update that changes nothing at all": `{"spec":{"region":"one"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			old := ""
			if strings.HasPrefix(name, "an update") {
				old = document
			}
			if patch := patchOf(t, document, old); len(patch) != 0 {
				t.Errorf("the document is changed: %q", patch)
			}
		})
	}
}

func TestDefaultsMakeNoBlockOfARequiredOne(t *testing.T) {
	for _, op := range patchOf(t, `{"spec":{"unknown":1}}`, "") {
		for _, required := range []string{"/spec/image", "/spec/database", "/spec/cache", "/spec/messaging", "/spec/openStackRelease", "/spec/unknown", "/status", "/metadata"} {
			if strings.Contains(op, required) {
				t.Errorf("the defaults change what they have nothing to do with: %s", op)
			}
		}
	}
	patch := strings.Join(patchOf(t, `{"spec":{"cache":{"servers":["a"]},"database":{"tls":{}},"volume":{"deployment":{"replicas":1}}}}`, ""), "\n")
	for _, want := range []string{"add /spec/cache/backend", "add /spec/database/tls/mode", "add /spec/volume/deployment/strategy", "add /spec/logging", "add /spec/scheduler"} {
		if !strings.Contains(patch, want) {
			t.Errorf("there is no %q in\n%s", want, patch)
		}
	}
}

func TestADocumentHasEveryDefaultOfItsObject(t *testing.T) {
	obj := newCinder("default")
	document, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	filled := obj.DeepCopy()
	admission.DefaultCinder(filled)
	answer, err := transfer(document, obj, filled)
	if err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.Cinder{}
	if err := json.Unmarshal(answer, got); err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(filled)
	have, _ := json.Marshal(got)
	if string(want) != string(have) {
		t.Errorf("the document has\n%s\nwant\n%s", have, want)
	}
}
