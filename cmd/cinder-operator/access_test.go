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
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestTheRulesOnAClusterOfChildrenAreWhatTheCodeUses(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	used, err := permissions(scheme, "")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range used {
		names := ""
		if p.Name != "" {
			names = " [" + p.Name + "]"
		}
		want = append(want, p.Verb+" "+p.Group+"/"+p.Resource+names)
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
