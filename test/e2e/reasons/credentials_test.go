// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var credentialCases = []testCase{
	{"credentials", hub, (*fixture).credentials},
	{"unknown-target", "nowhere", (*fixture).unknownTarget},
}

func withKeystone(c *v1alpha1.Cinder) {
	c.Spec.KeystoneEndpoint = "https://keystone.example.org/v3"
	c.Spec.ServiceUser = &v1alpha1.ServiceUserSpec{SecretRef: v1alpha1.SecretRefSpec{Name: "user"}}
}

func (f *fixture) secret(name string, data map[string]string) {
	f.Helper()
	f.cluster.Create(f, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name}, StringData: data})
}

func (f *fixture) serviceUser() {
	f.Helper()
	f.secret("user", map[string]string{"password": "secret"})
}

// credentials are awaited one after the other, and then the configuration.
func (f *fixture) credentials() {
	f.create(withKeystone, func(c *v1alpha1.Cinder) {
		c.Spec.SecretStoreRef = &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "vault"}
		c.Spec.Database.SecretRef.Name, c.Spec.Messaging.SecretRef.Name = "db", "bus"
		c.Spec.PolicyOverrides = &v1alpha1.PolicySpec{ConfigMapRef: &v1alpha1.ConfigMapRefSpec{Name: "policy"}}
	})
	typ := v1alpha1.ConditionSecretsReady
	f.says(not(typ, v1alpha1.ReasonSecretStoreNotReady), not(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady), pending())
	sayReady(f, f.cluster, f.foreign("SecretStore", storeVersion, "vault", fakeStore), "True")
	f.says(not(typ, v1alpha1.ReasonWaitingForDBCredentials))
	f.secret("db", map[string]string{"username": "cinder", "password": "secret"})
	f.says(not(typ, v1alpha1.ReasonWaitingForServiceUserCredentials))
	f.serviceUser()
	f.says(not(typ, v1alpha1.ReasonWaitingForMessagingCredentials))
	f.secret("bus", map[string]string{"transport_url": "rabbit://u:p@rabbit/" + f.ns})
	f.says(not(typ, v1alpha1.ReasonConfigError), not(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonWaitingForConfig))
	f.cluster.Create(f, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: "policy"}, Data: map[string]string{"policy.yaml": "{}"}})
	f.says(is(typ, v1alpha1.ReasonSecretsAvailable), is(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseSynced))
}

// unknownTarget is a Cinder with storage whose target nobody registered.
func (f *fixture) unknownTarget() {
	f.create()
	// Satellites that come before their Cinder is known wait for it at first.
	f.says(not(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTargetClusterUnavailable), pending())
	b, bb := harness.Backend(f.cinder, "nfs"), harness.BackupBackend(f.cinder, "backups")
	lab.Hub.Create(f, b)
	lab.Hub.Create(f, bb)
	f.reaches(b, unavailable(backend)...)
	f.reaches(bb, unavailable(backupBackend)...)
}

func unavailable(kind string) []row {
	return append(
		rows(kind, v1alpha1.ConditionCredentialsReady, metav1.ConditionFalse, v1alpha1.ReasonTargetClusterUnavailable),
		rows(kind, v1alpha1.ConditionConfigProjected, metav1.ConditionUnknown, v1alpha1.ReasonPending)...,
	)
}
