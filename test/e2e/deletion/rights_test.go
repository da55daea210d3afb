// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// unseen are the rights that the audit logs of this suite do not show, by the beginning of their line, and why each is
// granted all the same.
var unseen = map[string]string{
	"cinder.openstack.c5c3.io/cinders get":               "a CinderBackend whose Cinder the cache lacks looks for it live",
	"cinder.openstack.c5c3.io/cinders/finalizers update": "asked by an API server that enforces the permissions of owner references, never requested",
	"cinder.openstack.c5c3.io/targetclusters update":     "the owner of a TargetCluster changes when another registration takes the name over",
	"cinder.openstack.c5c3.io/targetclusters delete":     "the garbage collector of the hub may be faster",
	"/events patch": "an event that is repeated",
	"authentication.k8s.io/tokenreviews create":        "where /metrics is authenticated",
	"authorization.k8s.io/subjectaccessreviews create": "where /metrics is authenticated",
	"apps/replicasets list":                            "a revision that is to be pruned",
	"/pods list":                                       "the check of an upgrade",
	"discovery.k8s.io/endpointslices get":              "a network policy whose registration does not say where the API servers are",
	"cluster.x-k8s.io/":                                notServed,
	"autoscaling.k8s.io/":                              notServed,
	"gateway.networking.k8s.io/":                       notServed,
	"k8s.mariadb.com/":                                 notServed,
	"rabbitmq.com/":                                    notServed,
	"external-secrets.io/":                             notServed,
}

const notServed = "the clusters here do not serve it"

func TestTheAccountUsesWhatItIsGrantedAndIsRefusedNothing(t *testing.T) {
	edge := lab.Targets["edge-2"]
	ns := lab.Namespace(t, "rights", edge)
	lab.StartOperator(t, quick...)
	registration := lab.Register(t, "rights", edge, func(s *corev1.Secret) {
		s.Data[v1alpha1.RegistrationKeyAPIServerCIDRs] = []byte("192.0.2.0/24")
	})
	c := harness.Cinder(ns, "cinder", "rights")
	c.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 5, TargetCPUUtilization: ptr.To[int32](80)}
	c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{}}}
	backend, backup := lab.Deploy(t, c)
	lab.WaitReady(t, 2*harness.ReadyTimeout, c)
	for _, obj := range []client.Object{backend, backup} {
		lab.WaitReady(t, harness.ReadyTimeout, obj)
	}
	for _, obj := range []client.Object{backup, backend, c, registration} {
		lab.Hub.Delete(t, obj.DeepCopyObject().(client.Object))
		lab.Hub.WaitGone(t, harness.ReadyTimeout, obj)
	}

	for _, tt := range []struct {
		on    *harness.Cluster
		rules [][]string
	}{
		{lab.Hub, [][]string{{"rbac", "role.yaml"}}},
		{edge, [][]string{{"target-access", "20-roles.yaml"}}},
	} {
		used := map[string]bool{}
		for _, r := range tt.on.Begin().Requests(t) {
			resource := r.ObjectRef.Resource
			if r.ObjectRef.Subresource != "" {
				resource += "/" + r.ObjectRef.Subresource
			}
			used[r.ObjectRef.APIGroup+"/"+resource+" "+r.Verb] = true
			// A namespace that another test takes away forbids what is written into it.
			if r.ResponseStatus.Code == http.StatusForbidden && r.ObjectRef.Namespace == ns {
				t.Errorf("on %s it was refused %s %s", tt.on.Name, r.Verb, r.RequestURI)
			}
		}
		rights := map[string]bool{}
		for _, file := range tt.rules {
			for _, right := range granted(t, file...) {
				rights[right] = true
				// A server-side apply that makes an object is checked for create and logged as a patch.
				logged := right
				if tt.on != lab.Hub {
					logged = strings.Replace(right, " create", " patch", 1)
				}
				// A watch that begins with what there is needs no list; an API server that cannot do that is asked for one.
				if resource, lists := strings.CutSuffix(right, " list"); lists && used[resource+" watch"] {
					continue
				}
				if !used[logged] && !excused(right) {
					t.Errorf("on %s it is granted and not used: %s", tt.on.Name, right)
				}
			}
		}
		if tt.on == lab.Hub {
			continue // where the account has other roles as well
		}
		for use := range used {
			asksItself := strings.HasPrefix(use, "authorization.k8s.io/selfsubject")
			if !rights[use] && !asksItself && use != "/ get" {
				t.Errorf("on %s it is used and not granted: %s", tt.on.Name, use)
			}
		}
	}
}

func excused(right string) bool {
	for beginning := range unseen {
		if strings.HasPrefix(right, beginning) {
			return true
		}
	}
	return false
}

// granted spells out the rules of the ClusterRoles in a file of manifests, as "group/resource verb".
func granted(t *testing.T, file ...string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(append([]string{"..", "..", "..", "config"}, file...)...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dec := yaml.NewYAMLOrJSONDecoder(f, 4096)
	var out []string
	for {
		role := rbacv1.ClusterRole{}
		switch err := dec.Decode(&role); {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						out = append(out, group+"/"+resource+" "+verb)
					}
				}
			}
		}
	}
}
