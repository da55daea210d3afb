// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// column is one printer column: its name, the field it prints, and whether it is printed with -o wide alone.
type column struct {
	name, path string
	wide       bool
}

func ready(part string) string { return `.status.conditions[?(@.type=='Ready')].` + part }

func TestTheAPIServerServesEveryDefinition(t *testing.T) {
	for _, want := range loadCRDs(t) {
		t.Run(want.Spec.Names.Kind, func(t *testing.T) {
			got := &apiextensionsv1.CustomResourceDefinition{}
			if err := hub.Get(callContext(t), client.ObjectKeyFromObject(want), got); err != nil {
				t.Fatalf("get the definition: %v", err)
			}
			for _, condition := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.Established, apiextensionsv1.NamesAccepted} {
				if !slices.ContainsFunc(got.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
					return c.Type == condition && c.Status == apiextensionsv1.ConditionTrue
				}) {
					t.Errorf("%s is not True: %+v", condition, got.Status.Conditions)
				}
			}
			if slices.ContainsFunc(got.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.NonStructuralSchema && c.Status == apiextensionsv1.ConditionTrue
			}) {
				t.Error("the schema is not structural")
			}
		})
	}
}

func TestDefinitionsNameWhatUsersType(t *testing.T) {
	wanted := map[string][]column{
		v1alpha1.KindCinder: {
			{"Ready", ready("status"), false}, {"Release", ".status.installedRelease", false}, {"Endpoint", ".status.endpoint", false},
			{"Target", ".spec.targetClusterRef.name", false}, {"Age", ".metadata.creationTimestamp", false},
			{"Phase", ".status.upgradePhase", true}, {"Reason", ready("reason"), true}, {"Message", ready("message"), true},
		},
		v1alpha1.KindCinderBackend: {
			{"Ready", ready("status"), false}, {"Type", ".spec.type", false}, {"Cinder", ".spec.cinderRef.name", false}, {"Age", ".metadata.creationTimestamp", false},
		},
		v1alpha1.KindCinderBackupBackend: {
			{"Ready", ready("status"), false}, {"Type", ".spec.type", false}, {"Cinder", ".spec.cinderRef.name", false}, {"Age", ".metadata.creationTimestamp", false},
		},
		v1alpha1.KindTargetCluster: {
			{"Ready", ready("status"), false}, {"Source", ".status.source", false}, {"Version", ".status.kubernetesVersion", false},
			{"Cinders", ".status.cinders", false}, {"Reason", ready("reason"), false}, {"Age", ".metadata.creationTimestamp", false},
		},
	}
	found := 0
	for _, crd := range loadCRDs(t) {
		t.Run(crd.Spec.Names.Kind, func(t *testing.T) {
			columns, known := wanted[crd.Spec.Names.Kind]
			if !known {
				t.Fatalf("the kind %s is not part of the API", crd.Spec.Names.Kind)
			}
			found++
			if crd.Spec.Group != v1alpha1.GroupName || crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
				t.Errorf("group and scope are %s and %s", crd.Spec.Group, crd.Spec.Scope)
			}
			if !slices.Equal(crd.Spec.Names.Categories, []string{"openstack"}) || len(crd.Spec.Names.ShortNames) != 0 {
				t.Errorf("categories and short names are %q and %q, want openstack alone and none", crd.Spec.Names.Categories, crd.Spec.Names.ShortNames)
			}
			if len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Name != v1alpha1.GroupVersion.Version {
				t.Fatalf("the versions are %+v, want %s alone", crd.Spec.Versions, v1alpha1.GroupVersion.Version)
			}
			version := crd.Spec.Versions[0]
			if !version.Served || !version.Storage || version.Subresources == nil || version.Subresources.Status == nil {
				t.Error("the version is not served and stored with a status subresource")
			}
			var got []column
			for _, c := range version.AdditionalPrinterColumns {
				got = append(got, column{c.Name, c.JSONPath, c.Priority == 1})
			}
			if !slices.Equal(got, columns) {
				t.Errorf("the columns are\n%v\nwant\n%v", got, columns)
			}
		})
	}
	if found != len(wanted) {
		t.Errorf("%d of %d kinds have a definition", found, len(wanted))
	}
}

// annotationLimit is the most that all annotations of an object may take, in bytes.
const annotationLimit = 256 << 10

func TestDefinitionsFitIntoTheAnnotationOfAClientSideApply(t *testing.T) {
	for _, crd := range loadCRDs(t) {
		raw, err := json.Marshal(crd)
		if err != nil {
			t.Fatalf("marshal the definition of %s: %v", crd.Spec.Names.Kind, err)
		}
		if len(raw) >= annotationLimit {
			t.Errorf("the definition of %s takes %d bytes: a client-side kubectl apply refuses it from %d on", crd.Spec.Names.Kind, len(raw), annotationLimit)
		}
	}
}

func TestEveryFieldIsExplained(t *testing.T) {
	for _, crd := range loadCRDs(t) {
		t.Run(crd.Spec.Names.Kind, func(t *testing.T) {
			for _, version := range crd.Spec.Versions {
				if version.Schema.OpenAPIV3Schema.Description == "" {
					t.Error("the kind has no description")
				}
				explained(t, version.Schema.OpenAPIV3Schema, "")
			}
		})
	}
}

// explained fails for each field below a schema that kubectl explain would print nothing for. The metadata is described
// by the API server.
func explained(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, path string) {
	t.Helper()
	for name := range schema.Properties {
		property, at := schema.Properties[name], join(path, name)
		if property.Description == "" && at != "metadata" {
			t.Errorf("%s has no description", at)
		}
		explained(t, &property, at)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		explained(t, schema.Items.Schema, path+"[]")
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		explained(t, schema.AdditionalProperties.Schema, path+"{}")
	}
}
