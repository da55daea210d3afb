// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"c5c3.io/cinder-operator/controllers/cinder"
	"c5c3.io/cinder-operator/projection"
)

// childVerbs are what the operator does with every kind of child: it reads them
// from a watch and live, applies them (patch, and create for what does not exist
// yet) and deletes them.
var childVerbs = []string{"create", "delete", "get", "list", "patch", "watch"}

// otherRules are what it does on a cluster of children beside that, each line
// with the code that does it.
var otherRules = []string{
	"list apps/replicasets",                            // projection: what a ReplicaSet with pods names is not pruned
	"list /pods",                                       // controllers/cinder: the exit code of the upgrade check
	"get /services/proxy",                              // controllers/cinder: the health probe of a remote API
	"get /namespaces [kube-system]",                    // clusters: the identity of the cluster
	"get discovery.k8s.io/endpointslices [kubernetes]", // clusters: the API servers' addresses, for network policies
}

// referenceVerbs are what it does with the kinds that a Cinder names: it follows
// them by a watch, and reads them live where there is none.
var referenceVerbs = []string{"get", "list", "watch"}

func TestTheRulesOnAClusterOfChildrenAreWhatTheCodeUses(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(otherRules)
	for _, kind := range projection.Kinds() {
		gvk, err := apiutil.GVKForObject(kind.Object, scheme)
		if err != nil {
			t.Fatal(err)
		}
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		for _, verb := range childVerbs {
			want = append(want, verb+" "+resource.Group+"/"+resource.Resource)
		}
	}
	for _, gvk := range cinder.References("") {
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		for _, verb := range referenceVerbs {
			want = append(want, verb+" "+resource.Group+"/"+resource.Resource)
		}
	}
	var got []string
	for _, role := range readRoles(t, "20-roles.yaml") {
		for _, rule := range role.Rules {
			got = append(got, flatten(rule)...)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config/target-access/20-roles.yaml (-used by the code +granted):\n%s", diff)
	}
}

// flatten spells a rule out, one verb on one resource a line.
func flatten(rule rbacv1.PolicyRule) []string {
	names := ""
	if len(rule.ResourceNames) > 0 {
		names = " [" + strings.Join(rule.ResourceNames, " ") + "]"
	}
	var out []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				out = append(out, verb+" "+group+"/"+resource+names)
			}
		}
	}
	for _, url := range rule.NonResourceURLs {
		out = append(out, "non-resource "+url)
	}
	return out
}

func readRoles(t *testing.T, file string) []rbacv1.ClusterRole {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "config", "target-access", file))
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var roles []rbacv1.ClusterRole
	for {
		role := rbacv1.ClusterRole{}
		if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
			return roles
		} else if err != nil {
			t.Fatal(err)
		}
		if role.Kind == "ClusterRole" {
			roles = append(roles, role)
		}
	}
}

// The account of the shipped manifests, as the API server judges it.
func TestTheOperatorsAccountCannotRaiseItself(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", account)
	if err != nil {
		t.Fatal(err)
	}
	own, err := client.New(config, client.Options{Scheme: admin.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		verb, group, resource, namespace string
		allowed                          bool
	}{
		{"patch", "apps", "deployments", "openstack", true},
		{"patch", "cinder.openstack.c5c3.io", "cinders", "openstack", true},
		{"create", "rbac.authorization.k8s.io", "clusterroles", "", false},
		{"create", "rbac.authorization.k8s.io", "rolebindings", "openstack", false},
		{"impersonate", "", "users", "", false},
		{"create", "", "pods", "openstack", false},
		{"list", "", "pods", "openstack", true},
		{"get", "", "pods", "openstack", false},
		{"watch", "", "pods", "openstack", false},
		{"create", "", "serviceaccounts/token", "c5c3-system", false},
		{"delete", "", "namespaces", "", false},
		{"delete", "cinder.openstack.c5c3.io", "cinders", "openstack", false},
		{"*", "*", "*", "", false},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: tc.verb, Group: tc.group, Resource: tc.resource, Namespace: tc.namespace,
			},
		}}
		if err := own.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != tc.allowed {
			t.Errorf("%s %s/%s: allowed %t, want %t", tc.verb, tc.group, tc.resource, review.Status.Allowed, tc.allowed)
		}
	}
}
