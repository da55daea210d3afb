// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func fakeStore() fields { return fields{"provider": fields{"fake": fields{"data": []any{}}}} }

func externalSecretOf(name string) fields {
	return fields{
		"secretStoreRef": fields{"kind": "SecretStore", "name": "vault"}, "refreshInterval": "1h",
		"data": []any{fields{"secretKey": "password", "remoteRef": fields{"key": name}}},
	}
}

// Nothing polls here: the store's and the announced Secret's events alone move the
// condition on.
func TestASecretStoreHasToBeReadyBeforeCredentialsAreAwaited(t *testing.T) {
	t.Parallel()
	f := onFull(t)
	typ := v1alpha1.ConditionSecretsReady
	f.cinder(withKeystone, func(cr *v1alpha1.Cinder) {
		cr.Spec.SecretStoreRef = &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "vault"}
	})
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonSecretStoreNotReady, "SecretStore "+f.ns+"/vault does not exist")
	f.object(secretStoreKind, "vault", fakeStore())
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonSecretStoreNotReady, "vault", "reports no condition Ready yet")
	f.sayReady(secretStoreKind, "vault", "False", "InvalidProviderConfig", "sealed")
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonSecretStoreNotReady, "InvalidProviderConfig: sealed")
	f.sayReady(secretStoreKind, "vault", "True", "Valid", "store validated")
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDBCredentials, "Secret "+f.ns+"/db does not exist")

	f.object(externalSecretKind, "db", externalSecretOf("db"))
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDBCredentials, "ExternalSecret "+f.ns+"/db has not made it")
	f.sayReady(externalSecretKind, "db", "False", "SecretSyncedError", "could not get secret data from provider")
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDBCredentials, "ExternalSecret "+f.ns+"/db", "SecretSyncedError: could not get")
	f.secret("db", map[string]string{"username": "cinder", "password": "secret"})

	f.object(externalSecretKind, "user", externalSecretOf("user"))
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonWaitingForServiceUserCredentials, "ExternalSecret "+f.ns+"/user")
	f.secret("user", map[string]string{"pw": "secret"})
	f.object(externalSecretKind, "bus", externalSecretOf("bus"))
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonWaitingForMessagingCredentials, "ExternalSecret "+f.ns+"/bus")
	f.secret("bus", map[string]string{"transport_url": "rabbit://u:p@rabbit/" + f.ns})
	f.awaitCondition(typ, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)

	// An outage of the store shows, and its end.
	f.sayReady(secretStoreKind, "vault", "False", "InvalidProviderConfig", "sealed")
	f.awaitCondition(typ, metav1.ConditionFalse, v1alpha1.ReasonSecretStoreNotReady)
	f.sayReady(secretStoreKind, "vault", "True", "Valid", "store validated")
	f.awaitCondition(typ, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
}

func TestTheDefaultSecretStoreCountsWhereStoresAreServed(t *testing.T) {
	t.Parallel()
	f := onFull(t)
	typ, store := v1alpha1.ConditionSecretsReady, v1alpha1.DefaultSecretStoreName
	f.secrets()
	f.cinder()
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonSecretStoreNotReady, "ClusterSecretStore "+store+" does not exist")
	f.object(clusterStoreKind, store, fakeStore())
	f.sayReady(clusterStoreKind, store, "False", "InvalidProviderConfig", "sealed")
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonSecretStoreNotReady, "InvalidProviderConfig: sealed")
	f.sayReady(clusterStoreKind, store, "True", "Valid", "store validated")
	f.awaitCondition(typ, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
	f.sayReady(clusterStoreKind, store, "False", "InvalidProviderConfig", "sealed")
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonSecretStoreNotReady, "InvalidProviderConfig: sealed")
}

// The account has the shipped rules, without the one that reads stores.
func TestASecretStoreThatMayNotBeReadIsSaidToBeForbidden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.target, f.children = "limited-"+f.ns, suite.full
	f.create(suite.full, namespace(f.ns))
	rules := shippedRules(t)
	stores := slices.IndexFunc(rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "clustersecretstores") })
	if stores < 0 {
		t.Fatal("no shipped rule is for ClusterSecretStores")
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: f.target}, Rules: slices.Delete(slices.Clone(rules), stores, stores+1)}
	f.create(suite.full, role)
	f.create(suite.full, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: f.target},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: f.target},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: limitedAccount}},
	})
	f.register("full-limited")
	f.secrets()
	f.object(clusterStoreKind, "shared-"+f.ns, fakeStore())
	f.sayReady(clusterStoreKind, "shared-"+f.ns, "True", "Valid", "store validated")
	f.cinder(managedDatabase, func(cr *v1alpha1.Cinder) {
		cr.Spec.SecretStoreRef = &v1alpha1.SecretStoreRefSpec{Name: "shared-" + f.ns}
	})
	f.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonSecretStoreNotReady, "shared-"+f.ns, "forbidden")

	// The right is noticed when it is given, and the shipped rules are enough.
	role.Rules = rules
	if err := suite.full.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
	f.object(mariaDBKind, "mariadb", fields{"storage": fields{"size": "1Gi"}})
	f.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running")
	f.readySQL(sqlKinds...)
	f.endJob("cinder-db-sync", true)
	f.backend("nfs-a")
	f.awaitReady()
}

// shippedRules are those of the account that the operator has on a target.
func shippedRules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "config", "target-access", "20-roles.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	return rules
}
