// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// mountedConfig reads the ConfigMap that the migration Job mounts.
func (f *fixture) mountedConfig(ctx context.Context) (map[string]string, error) {
	var job batchv1.Job
	if err := f.children.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: "cinder-db-sync"}, &job); err != nil {
		return nil, err
	}
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.ConfigMap == nil {
			continue
		}
		var cm corev1.ConfigMap
		err := f.children.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: v.ConfigMap.Name}, &cm)
		return cm.Data, err
	}
	return nil, fmt.Errorf("Job %s mounts no ConfigMap", job.Name)
}

// awaitConfig waits until a mounted file has all the parts, and returns it.
func (f *fixture) awaitConfig(file string, parts ...string) (text string) {
	f.Helper()
	f.eventually(fmt.Sprintf("%s with %q", file, parts), func(ctx context.Context) error {
		data, err := f.mountedConfig(ctx)
		if err != nil {
			return err
		}
		text = data[file]
		return contains(text, parts...)
	})
	return text
}

func TestEveryPartOfTheSpecReachesTheConfiguration(t *testing.T) {
	t.Parallel()
	f := onTarget(t)
	f.register("edge")
	f.secrets()
	f.secret("user", map[string]string{"pw": "secret"})
	f.cinder(withKeystone, func(cr *v1alpha1.Cinder) {
		cr.Spec.Region = "RegionOne"
		cr.Spec.GlanceEndpoint = "https://glance.example.org"
		cr.Spec.InternalTenant = &v1alpha1.InternalTenantSpec{ProjectID: "p-1", UserID: "u-$1"}
		cr.Spec.KeyManager = &v1alpha1.KeyManagerSpec{
			Type: v1alpha1.KeyManagerBarbican, Barbican: &v1alpha1.BarbicanSpec{Endpoint: "https://barbican.example.org"},
		}
		cr.Spec.Logging = &v1alpha1.LoggingSpec{Level: v1alpha1.LogLevelWarning, PerLoggerLevels: map[string]v1alpha1.LogLevel{"sqlalchemy": v1alpha1.LogLevelError}}
		cr.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"my_ip": "$host"}}
	})
	text := f.awaitConfig("cinder.conf",
		"glance_api_servers = https://glance.example.org\n", "cinder_internal_tenant_project_id = p-1\n", `cinder_internal_tenant_user_id = u-\$1`+"\n",
		"[key_manager]\nbackend = barbican\n", "barbican_endpoint = https://barbican.example.org\n", "auth_endpoint = https://keystone.example.org/v3\n",
		"region_name = RegionOne\n", "sqlalchemy=ERROR", "my_ip = $host\n")
	if strings.Contains(text, "log_config_append") || strings.Contains(text, "secret") {
		t.Errorf("cinder.conf is\n%s", text)
	}
	f.awaitCondition(v1alpha1.ConditionExtraConfigHealthy, metav1.ConditionTrue, v1alpha1.ReasonNoOwnedKeysOverridden)

	// With json the levels stand in a file of their own.
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Logging.Format = v1alpha1.LogFormatJSON })
	text = f.awaitConfig("cinder.conf", "log_config_append = /etc/cinder/cinder.conf.d/logging.ini\n")
	if strings.Contains(text, "default_log_levels") {
		t.Errorf("cinder.conf still sets levels:\n%s", text)
	}
	f.awaitConfig("logging.ini", "qualname = sqlalchemy", "level = ERROR", "level = WARNING")
}

// A change of the set is told once, whatever else changes.
func TestOverriddenOptionsAreToldOncePerChangeOfTheSet(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.cinder(func(cr *v1alpha1.Cinder) {
		cr.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"debug": "true"}}
	})
	typ := v1alpha1.ConditionExtraConfigHealthy
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonOwnedKeysOverridden, "[DEFAULT] debug")
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.GlanceEndpoint = "https://glance.example.org" })
	f.awaitConfig("cinder.conf", "glance.example.org")
	f.update(func(cr *v1alpha1.Cinder) {
		cr.Spec.ExtraConfig["coordination"] = map[string]string{"backend_url": "etcd3+http://etcd"}
	})
	f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonOwnedKeysOverridden, "[DEFAULT] debug", "[coordination] backend_url")
	f.awaitConfig("cinder.conf", "etcd3+http://etcd")
	given := func(ctx context.Context) (int, error) {
		var list eventsv1.EventList
		if err := suite.hub.List(ctx, &list, client.InNamespace(f.ns)); err != nil {
			return 0, err
		}
		n := 0
		for i := range list.Items {
			if list.Items[i].Reason == "ExtraConfigOwnedKeyOverride" {
				n++
				if s := list.Items[i].Series; s != nil {
					n += int(s.Count) - 1
				}
			}
		}
		return n, nil
	}
	f.eventually("two events", func(ctx context.Context) error {
		if n, err := given(ctx); err != nil || n < 2 {
			return fmt.Errorf("%d events, error %w", n, err)
		}
		return nil
	})
	if n, err := given(t.Context()); err != nil || n != 2 {
		t.Errorf("%d events, error %v", n, err)
	}
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.ExtraConfig = nil })
	f.awaitCondition(typ, metav1.ConditionTrue, v1alpha1.ReasonNoOwnedKeysOverridden)
}

// Nothing polls here: the ConfigMap's event alone has to render anew.
func TestPoliciesAreMergedAndFollowTheirConfigMap(t *testing.T) {
	t.Parallel()
	everywhere(t, func(f *fixture) {
		f.secrets()
		f.cinder(func(cr *v1alpha1.Cinder) {
			cr.Spec.PolicyOverrides = &v1alpha1.PolicySpec{
				Rules:        map[string]v1alpha1.PolicyRule{"volume:delete": "role:admin"},
				ConfigMapRef: &v1alpha1.ConfigMapRefSpec{Name: "policies"},
			}
		})
		typ := v1alpha1.ConditionSecretsReady
		f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonConfigError, "ConfigMap "+f.ns+"/policies", "does not exist")
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForConfig)
		policies := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: "policies"}, Data: map[string]string{"other": ""}}
		f.create(f.children, policies)
		f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonConfigError, `no key "policy.yaml"`)
		set := func(text string) {
			f.Helper()
			policies.Data = map[string]string{"policy.yaml": text}
			if err := f.children.Update(f.Context(), policies); err != nil {
				f.Fatal(err)
			}
		}
		set("volume:delete: role:member\nvolume:create: role:member\n")
		f.awaitCondition(typ, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
		f.awaitConfig("cinder.conf", "policy_file = /etc/cinder/cinder.conf.d/policy.yaml\n")
		if got, want := f.awaitConfig("policy.yaml"), "volume:create: role:member\nvolume:delete: role:admin\n"; got != want {
			f.Errorf("policy.yaml is %q, want %q", got, want)
		}
		set("volume:create: role:reader\n")
		f.awaitConfig("policy.yaml", "volume:create: role:reader\n", "volume:delete: role:admin\n")
		set("- no map\n")
		f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonConfigError, "policy.yaml")
	})
}

// The webhook is not there in this suite: what it would refuse gets here.
func TestAFirstInstallThatCannotBeRenderedWaitsForItsConfiguration(t *testing.T) {
	t.Parallel()
	everywhere(t, func(f *fixture) {
		f.secret("db", map[string]string{"username": "cinder", "password": "secret"})
		f.secret("bus", map[string]string{"transport_url": "rabbit://u:p@rabbit/" + f.ns})
		f.secret("user", map[string]string{"pw": "secret"})
		f.object(mariaDBKind, "mariadb", fields{"storage": fields{"size": "1Gi"}})
		f.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running")
		f.cinder(withKeystone, managedDatabase, func(cr *v1alpha1.Cinder) { cr.Spec.Region = "One\ndebug = true" })
		f.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonConfigError, "region_name")
		// The database is provisioned all the same: that comes first.
		f.readySQL(sqlKinds...)
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForConfig)
		f.absent(&batchv1.Job{}, "cinder-db-sync")
		var list corev1.ConfigMapList
		if err := f.children.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
			f.Fatal(err)
		}
		for i := range list.Items {
			if strings.HasPrefix(list.Items[i].Name, "cinder-config-") {
				f.Errorf("ConfigMap %s is there", list.Items[i].Name)
			}
		}
		f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Region = "One" })
		f.awaitConfig("cinder.conf", "region_name = One\n")
		f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
	})
}
