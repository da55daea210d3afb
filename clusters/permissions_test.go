// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func needs() []Permission {
	list := []Permission{
		{Verb: "get", Resource: "namespaces", Name: "kube-system"},
		{Verb: "get", Resource: "services/proxy"},
		{Verb: "get", Group: "discovery.k8s.io", Resource: "endpointslices", Name: "kubernetes", Namespace: "default"},
	}
	for _, verb := range []string{"get", "list", "watch", "create", "patch", "delete"} {
		list = append(list, Permission{Verb: verb, Resource: "secrets"}, Permission{Verb: verb, Resource: "configmaps"},
			Permission{Verb: verb, Group: "apps", Resource: "deployments"}, Permission{Verb: verb, Group: widget.Group, Resource: "widgets"})
	}
	return list
}

func withPermissions(o *Options) { o.Permissions = needs() }

var childRules = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
	{APIGroups: []string{""}, Resources: []string{"services/proxy"}, Verbs: []string{"get"}},
	{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list", "watch", "create", "delete"}},
}

// limited makes a service account on the target with the rules, in the given namespaces or in all.
func limited(t *testing.T, rules []rbacv1.PolicyRule, namespaces ...string) (*corev1.ServiceAccount, *rbacv1.ClusterRole) {
	t.Helper()
	ns := newNamespace(t, targetAdmin)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "limited-" + ns}, Rules: rules}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limited"}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: sa.Name}}
	objects := []client.Object{role, sa}
	for _, in := range namespaces {
		objects = append(objects, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: role.Name}, RoleRef: ref, Subjects: subjects})
	}
	if len(namespaces) == 0 {
		objects = append(objects, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: ref, Subjects: subjects})
	}
	for _, obj := range objects {
		if err := targetAdmin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	return sa, role
}

// lacks waits until the TargetCluster lists exactly these as missing, each as "verb group/resource [namespace]".
func (f *fleet) lacks(name string, want ...string) *v1alpha1.TargetCluster {
	f.t.Helper()
	slices.Sort(want)
	var tc *v1alpha1.TargetCluster
	eventually(f.t, 20*time.Second, func(ctx context.Context) error {
		var err error
		if tc, err = f.targetCluster(ctx, name); err != nil {
			return err
		}
		var got []string
		for _, p := range tc.Status.MissingPermissions {
			got = append(got, fmt.Sprintf("%s %s/%s [%s]", p.Verb, p.Group, p.Resource, p.Namespace))
		}
		slices.Sort(got)
		reason := v1alpha1.ReasonPermitted
		if len(want) > 0 {
			reason = v1alpha1.ReasonPermissionsMissing
		}
		c := meta.FindStatusCondition(tc.Status.Conditions, v1alpha1.ConditionPermitted)
		if !slices.Equal(got, want) || c == nil || c.Reason != reason {
			return fmt.Errorf("missing %v, condition %+v", got, c)
		}
		return nil
	})
	return tc
}

func TestWhatAnAccountLacksIsListedAndItConnectsAllTheSame(t *testing.T) {
	f := newFleet(t, withPermissions)
	sa, role := limited(t, childRules)
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(tokenOf(t, sa))))
	target := f.connected("edge")
	// A kind that is not served is not missed.
	tc := f.lacks("edge", "patch apps/deployments []", "get /namespaces []", "get discovery.k8s.io/endpointslices [default]")
	if !meta.IsStatusConditionTrue(tc.Status.Conditions, v1alpha1.ConditionReady) || !meta.IsStatusConditionTrue(tc.Status.Conditions, v1alpha1.ConditionConnected) {
		t.Errorf("conditions %+v", tc.Status.Conditions)
	}

	told := f.changed("edge")
	role.Rules = append(slices.Clone(childRules), rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"patch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, ResourceNames: []string{"kubernetes"}, Verbs: []string{"get"}})
	if err := targetAdmin.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	f.lacks("edge")
	if f.connected("edge") != target {
		t.Error("a right that was given made a new connection")
	}
	if f.changed("edge") == told {
		t.Error("nobody was told of the rights that were given")
	}

	role.Rules = childRules[1:]
	if err := targetAdmin.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		tc, err := f.targetCluster(ctx, "edge")
		if err == nil && len(tc.Status.MissingPermissions) != 15 {
			err = fmt.Errorf("missing %+v", tc.Status.MissingPermissions)
		}
		return err
	})
}

func TestWhatAnAccountLacksIsToldPerNamespace(t *testing.T) {
	one, two := newNamespace(t, targetAdmin), newNamespace(t, targetAdmin)
	rules := slices.Concat(childRules, []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"patch"}}})
	sa, _ := limited(t, rules, one)
	apart := []string{"get /namespaces []", "get discovery.k8s.io/endpointslices [default]"}
	all := func(namespace string) []string {
		out := slices.Clone(apart)
		for _, p := range needs()[3:] {
			if p.Group != widget.Group {
				out = append(out, fmt.Sprintf("%s %s/%s [%s]", p.Verb, p.Group, p.Resource, namespace))
			}
		}
		return append(out, fmt.Sprintf("get /services/proxy [%s]", namespace))
	}
	f := newFleet(t, withPermissions)
	token := withToken(tokenOf(t, sa))
	f.register("one", kubeconfig(t, targetConfig, "", token), map[string]string{v1alpha1.RegistrationKeyNamespaces: one})
	f.register("both", kubeconfig(t, targetConfig, "", token), map[string]string{v1alpha1.RegistrationKeyNamespaces: one + "," + two})
	f.register("all", kubeconfig(t, targetConfig, "", token))
	f.lacks("one", apart...)
	f.lacks("both", all(two)...)
	// Rights in one namespace are none in all of them.
	f.lacks("all", all("")...)
}

func TestATokenOfAnotherAccountIsAskedForItsRightsAtOnce(t *testing.T) {
	f := newFleet(t, withPermissions, func(o *Options) { o.DiscoverEvery = 1_000_000 })
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(account(t).token)))
	f.lacks("edge")
	sa, _ := limited(t, childRules)
	f.register("edge", kubeconfig(t, targetConfig, "", withToken(tokenOf(t, sa))))
	f.lacks("edge", "patch apps/deployments []", "get /namespaces []", "get discovery.k8s.io/endpointslices [default]")
}

func TestARuleGrantsWhatItNames(t *testing.T) {
	proxy := Permission{Verb: "get", Resource: "services/proxy"}
	named := Permission{Verb: "get", Resource: "namespaces", Name: "kube-system"}
	rule := func(group, resource string, names ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{Verbs: []string{"get"}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
	}
	for name, tc := range map[string]struct {
		Permission
		rule authorizationv1.ResourceRule
		want bool
	}{
		"the resource itself":                      {proxy, rule("", "services/proxy"), true},
		"every resource":                           {proxy, rule("*", "*"), true},
		"the subresource of every resource":        {proxy, rule("", "*/proxy"), true},
		"a resource is not its subresource":        {proxy, rule("", "services"), false},
		"another group":                            {proxy, rule("apps", "services/proxy"), false},
		"the object by name":                       {named, rule("", "namespaces", "default", "kube-system"), true},
		"another object":                           {named, rule("", "namespaces", "default"), false},
		"all objects include the one":              {named, rule("", "namespaces"), true},
		"one object is not all":                    {proxy, rule("", "services/proxy", "one"), false},
		"another verb":                             {Permission{Verb: "list", Resource: "pods"}, rule("", "pods"), false},
		"a resource that only begins like it":      {Permission{Verb: "get", Resource: "pods"}, rule("", "pods/log"), false},
		"every subresource is not the resource":    {Permission{Verb: "get", Resource: "pods"}, rule("", "*/pods"), false},
		"every verb, group and resource are meant": {named, authorizationv1.ResourceRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.grantedBy(tc.rule); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
