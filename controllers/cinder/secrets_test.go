// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"strings"
	"testing"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestStoreGate(t *testing.T) {
	t.Parallel()
	cluster := v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindCluster, Name: "openbao-cluster-store"}
	local := v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "vault"}
	for name, c := range map[string]struct {
		store            v1alpha1.SecretStoreRefSpec
		explicit, served bool
		namespace        string
		reason           string
	}{
		"plain Secrets serve where stores are not served and none is named":    {cluster, false, false, "", ""},
		"a namespaced operator takes plain Secrets too":                        {cluster, false, false, "openstack", ""},
		"a named store has to be served":                                       {local, true, false, "", v1alpha1.ReasonSecretStoreNotReady},
		"a namespaced operator reads no ClusterSecretStore":                    {cluster, true, true, "openstack", v1alpha1.ReasonClusterSecretStoreUnsupported},
		"nor the one that is the default":                                      {cluster, false, true, "openstack", v1alpha1.ReasonClusterSecretStoreUnsupported},
		"a served store is not passed over silently while no gate looks at it": {local, true, true, "", v1alpha1.ReasonNotSupportedYet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason, message := storeGate(c.store, c.explicit, c.served, c.namespace, "the hub")
			if reason != c.reason {
				t.Fatalf("reason is %q (%s), want %q", reason, message, c.reason)
			}
			if reason != "" && !strings.Contains(message, c.store.Name) {
				t.Errorf("message %q does not name the store", message)
			}
		})
	}
}
