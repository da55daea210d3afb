// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

// serving is a target that serves secret stores or does not, and lets nobody read
// one: what is decided here, is decided before that.
type serving struct {
	clusters.Target
	stores bool
}

func (s serving) Serves(schema.GroupVersionKind) (bool, error) { return s.stores, nil }
func (s serving) String() string                               { return "the hub" }

func TestAStoreIsJudgedByWhatIsServedAndAllowedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	cluster := &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindCluster, Name: "openbao-cluster-store"}
	local := &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "vault"}
	for name, c := range map[string]struct {
		store     *v1alpha1.SecretStoreRefSpec
		served    bool
		namespace string
		reason    string
	}{
		"plain Secrets serve where stores are not served and none is named": {nil, false, "", ""},
		"a namespaced operator takes plain Secrets too":                     {nil, false, "openstack", ""},
		"a named store has to be served":                                    {local, false, "", v1alpha1.ReasonSecretStoreNotReady},
		"a namespaced operator reads no ClusterSecretStore":                 {cluster, true, "openstack", v1alpha1.ReasonClusterSecretStoreUnsupported},
		"whether it is served or not":                                       {cluster, false, "openstack", v1alpha1.ReasonClusterSecretStoreUnsupported},
		"nor the one that is the default":                                   {nil, true, "openstack", v1alpha1.ReasonClusterSecretStoreUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Reconciler{Deps: Deps{Namespace: c.namespace}}
			p := &Pass{Target: serving{stores: c.served}, Cinder: &v1alpha1.Cinder{
				ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "cinder"}, Spec: v1alpha1.CinderSpec{SecretStoreRef: c.store},
			}}
			reason, message, err := r.storeGate(t.Context(), p)
			if err != nil || reason != c.reason {
				t.Fatalf("reason is %q (%s), error %v, want %q", reason, message, err, c.reason)
			}
			want := "openbao-cluster-store"
			if c.store != nil {
				want = c.store.Name
			}
			if reason != "" && !strings.Contains(message, want) {
				t.Errorf("message %q does not name the store", message)
			}
		})
	}
}
