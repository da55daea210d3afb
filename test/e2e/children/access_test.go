// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

func TestTheOperatorsAccountsMayNotGrowTheirRights(t *testing.T) {
	for _, c := range []*harness.Cluster{lab.Hub, lab.Targets["edge-1"], lab.Targets["edge-2"]} {
		cfg, err := clientcmd.BuildConfigFromFlags("", c.AccountKubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		as, err := client.New(cfg, client.Options{Scheme: harness.Scheme})
		if err != nil {
			t.Fatal(err)
		}
		may := func(t *testing.T, attrs authorizationv1.ResourceAttributes) bool {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attrs}}
			if err := as.Create(t.Context(), review); err != nil {
				t.Fatal(err)
			}
			return review.Status.Allowed
		}
		for name, attrs := range map[string]authorizationv1.ResourceAttributes{
			"everything":               {Verb: "*", Group: "*", Resource: "*"},
			"create ClusterRoles":      {Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
			"escalate ClusterRoles":    {Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
			"bind ClusterRoles":        {Verb: "bind", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
			"create bindings":          {Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
			"create Roles":             {Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: "openstack"},
			"impersonate":              {Verb: "impersonate", Resource: "users"},
			"run commands in pods":     {Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "openstack"},
			"create pods":              {Verb: "create", Resource: "pods", Namespace: "openstack"},
			"mint tokens":              {Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "kube-system"},
			"watch every pod":          {Verb: "watch", Resource: "pods"},
			"delete namespaces":        {Verb: "delete", Resource: "namespaces"},
			"write CRDs":               {Verb: "update", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
			"delete children in bulk":  {Verb: "deletecollection", Group: "apps", Resource: "deployments", Namespace: "openstack"},
			"write nodes":              {Verb: "patch", Resource: "nodes"},
			"approve own certificates": {Verb: "update", Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Subresource: "approval"},
		} {
			t.Run(c.Name+": "+name, func(t *testing.T) {
				if may(t, attrs) {
					t.Errorf("the account may: %+v", attrs)
				}
			})
		}
		// Without this the cases above would hold for an account with no rights.
		if !may(t, authorizationv1.ResourceAttributes{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "openstack"}) {
			t.Errorf("the account on %s may not even write Deployments", c.Name)
		}
	}
}
