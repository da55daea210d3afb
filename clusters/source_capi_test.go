// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// clusterCRD makes the hub serve Clusters, without Cluster API's controllers behind them.
func clusterCRD(t *testing.T) {
	t.Helper()
	crds := []*apiextensionsv1.CustomResourceDefinition{{
		ObjectMeta: metav1.ObjectMeta{Name: "clusters." + gvkCluster.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gvkCluster.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "clusters", Singular: "cluster", Kind: "Cluster", ListKind: "ClusterList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gvkCluster.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}}
	if _, err := envtest.InstallCRDs(hubConfig, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(hubConfig, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
			t.Error(err)
		}
		err := kwait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
			err := hubAdmin.Get(ctx, client.ObjectKeyFromObject(crds[0]), &apiextensionsv1.CustomResourceDefinition{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			t.Errorf("the CRD stays: %v", err)
		}
	})
}

func (f *fleet) cluster(name string, annotations map[string]string) *unstructured.Unstructured {
	f.t.Helper()
	c := newCluster()
	c.SetNamespace(f.namespace)
	c.SetName(name)
	c.SetLabels(map[string]string{v1alpha1.LabelTarget: "true"})
	c.SetAnnotations(annotations)
	if err := hubAdmin.Create(f.t.Context(), c); err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *fleet) initialize(c *unstructured.Unstructured) {
	f.t.Helper()
	if err := unstructured.SetNestedField(c.Object, true, "status", "initialization", "controlPlaneInitialized"); err != nil {
		f.t.Fatal(err)
	}
	if err := hubAdmin.Status().Update(f.t.Context(), c); err != nil {
		f.t.Fatal(err)
	}
}

// capiSecret is the Secret that Cluster API keeps a cluster's kubeconfig in.
func (f *fleet) capiSecret(name string, kubeconfig []byte) {
	f.t.Helper()
	s := &corev1.Secret{}
	s.Namespace, s.Name = f.namespace, name+"-kubeconfig"
	s.Labels = map[string]string{capiNameLabel: name}
	s.Data = map[string][]byte{"value": kubeconfig}
	if err := hubAdmin.Create(f.t.Context(), s); err != nil {
		f.t.Fatal(err)
	}
}

func TestAClusterOfClusterAPIRegistersOnceItsControlPlaneIsThere(t *testing.T) {
	f := newFleet(t)
	f.unavailable("edge", CauseNotRegistered)
	clusterCRD(t)
	c := f.cluster("edge", map[string]string{
		v1alpha1.AnnotationAllowedNamespaces: "default", v1alpha1.AnnotationAPIServerCIDRs: "192.0.2.0/24, 2001:db8::/64",
	})
	f.shows("edge", v1alpha1.ConditionAccepted, v1alpha1.ReasonKubeconfigMissing)
	f.initialize(c)
	if message := f.unavailable("edge", CauseRefused); !strings.Contains(message, "Cluster "+f.namespace+"/edge") {
		t.Errorf("message %q", message)
	}
	f.capiSecret("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	if cidrs, err := target.APIServerCIDRs(t.Context()); err != nil || !slices.Equal(cidrs, []string{"192.0.2.0/24", "2001:db8::/64"}) {
		t.Errorf("the API servers are at %v (%v), not where the annotation says", cidrs, err)
	}
	if _, err := f.resolve("edge", "other"); err == nil {
		t.Error("the annotation that limits who may use it is not heeded")
	}
	tc := f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	if tc.Status.Source != v1alpha1.TargetClusterSourceClusterAPI || len(tc.OwnerReferences) != 1 || tc.OwnerReferences[0].Kind != "Cluster" {
		t.Errorf("source %s, owners %+v", tc.Status.Source, tc.OwnerReferences)
	}

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "edge-kubeconfig"}}
	if err := hubAdmin.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	f.unavailable("edge", CauseRefused)
	f.capiSecret("edge", kubeconfig(t, targetConfig, ""))
	f.connected("edge")

	c.SetLabels(nil)
	if err := hubAdmin.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f.unavailable("edge", CauseNotRegistered)
}

func TestASecretWinsOverAClusterOfTheSameName(t *testing.T) {
	clusterCRD(t)
	f := newFleet(t)
	c := f.cluster("edge", nil)
	f.initialize(c)
	f.capiSecret("edge", kubeconfig(t, targetConfig, ""))
	f.connected("edge")

	secret := f.register("edge", kubeconfig(t, targetConfig, ""), map[string]string{"allowedNamespaces": "default"})
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		tc, err := f.targetCluster(ctx, "edge")
		if err != nil {
			return err
		}
		accepted := meta.FindStatusCondition(tc.Status.Conditions, v1alpha1.ConditionAccepted)
		if tc.Status.Source != v1alpha1.TargetClusterSourceSecret || !strings.Contains(accepted.Message, "Cluster "+f.namespace+"/edge") {
			return fmt.Errorf("source %s, Accepted %q: %w", tc.Status.Source, accepted.Message, errNotYet)
		}
		return nil
	})
	if got := f.recorded("Cluster/edge Warning ClusterRefused The Secret " + f.namespace + "/edge"); len(got) != 1 {
		t.Errorf("events: %v", f.recorded(""))
	}
	f.connected("edge")

	if err := hubAdmin.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		tc, err := f.targetCluster(ctx, "edge")
		if err != nil {
			return err
		}
		if tc.Status.Source != v1alpha1.TargetClusterSourceClusterAPI {
			return errNotYet
		}
		return nil
	})
	f.connected("edge")
	if up := f.upBySource("edge"); !maps.Equal(up, map[string]float64{string(v1alpha1.TargetClusterSourceClusterAPI): 1}) {
		t.Errorf("the series of the cluster are %v", up)
	}
	if len(f.recorded("ClusterDisconnected")) != 0 {
		t.Errorf("events: %v", f.recorded(""))
	}
}
