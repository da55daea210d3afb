// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// serveExternalSecrets gives the API server a kind of that name. Its content is
// nobody's business here: it is looked for, and not read.
func serveExternalSecrets(t *testing.T) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "externalsecrets." + externalSecretKind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: externalSecretKind.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: externalSecretKind.Kind, ListKind: externalSecretKind.Kind + "List", Plural: "externalsecrets", Singular: "externalsecret",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: externalSecretKind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}
	if _, err := envtest.InstallCRDs(config, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(config, options); err != nil {
			t.Error(err)
		}
	})
}

func externalSecret(namespace, name string) *unstructured.Unstructured {
	es := &unstructured.Unstructured{}
	es.SetGroupVersionKind(externalSecretKind)
	es.SetNamespace(namespace)
	es.SetName(name)
	return es
}
