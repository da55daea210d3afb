// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"
)

func TestImageReference(t *testing.T) {
	for want, image := range map[string]ImageSpec{
		"registry.example.org/cinder:2026.1":     {Repository: "registry.example.org/cinder", Tag: "2026.1"},
		"registry.example.org/cinder@sha256:abc": {Repository: "registry.example.org/cinder", Digest: "sha256:abc"},
	} {
		if got := image.Reference(); got != want {
			t.Errorf("the reference is %s, want %s", got, want)
		}
	}
}

func TestEffectiveKey(t *testing.T) {
	if got := (SecretRefSpec{Name: "bus"}).EffectiveKey(DefaultTransportURLKey); got != "transport_url" {
		t.Errorf("an unset key is %q, want transport_url", got)
	}
	if got := (SecretRefSpec{Name: "bus", Key: "url"}).EffectiveKey(DefaultTransportURLKey); got != "url" {
		t.Errorf("the key is %q, want the one the reference names", got)
	}
}

func TestDatabaseDefaults(t *testing.T) {
	unset := DatabaseSpec{Host: "db"}
	if unset.Managed() || unset.EffectivePort() != 3306 || unset.EffectiveCredentialsMode() != CredentialsModeStatic {
		t.Errorf("unset fields are managed=%t, port %d, mode %s", unset.Managed(), unset.EffectivePort(), unset.EffectiveCredentialsMode())
	}
	set := DatabaseSpec{ClusterRef: &ClusterRefSpec{Name: "db"}, Port: ptr.To[int32](13306), CredentialsMode: CredentialsModeDynamic}
	if !set.Managed() || set.EffectivePort() != 13306 || set.EffectiveCredentialsMode() != CredentialsModeDynamic {
		t.Errorf("set fields are managed=%t, port %d, mode %s", set.Managed(), set.EffectivePort(), set.EffectiveCredentialsMode())
	}
}

func TestDatabaseTLSIsEnabledByAnyModeButDisabled(t *testing.T) {
	for _, test := range []struct {
		tls  *DatabaseTLSSpec
		want bool
	}{
		{nil, false},
		{&DatabaseTLSSpec{}, true}, // require, as admission fills in
		{&DatabaseTLSSpec{Mode: DatabaseTLSDisabled}, false},
		{&DatabaseTLSSpec{Mode: DatabaseTLSPrefer}, true},
		{&DatabaseTLSSpec{Mode: DatabaseTLSVerifyFull}, true},
	} {
		if got := test.tls.Enabled(); got != test.want {
			t.Errorf("%+v is enabled: %t, want %t", test.tls, got, test.want)
		}
	}
}

func TestEffectiveServers(t *testing.T) {
	if got := (CacheSpec{ClusterRef: &ClusterRefSpec{Name: "memcached"}}).EffectiveServers(); !slices.Equal(got, []string{"memcached:11211"}) {
		t.Errorf("a managed Memcached resolves to %q", got)
	}
	listed := CacheSpec{Servers: []string{"b:1", "a:2"}}
	got := listed.EffectiveServers()
	if !slices.Equal(got, []string{"b:1", "a:2"}) {
		t.Errorf("listed servers resolve to %q, want them in their order", got)
	}
	got[0] = "changed"
	if listed.Servers[0] != "b:1" {
		t.Error("the answer shares memory with the spec")
	}
	if got := listed.EffectiveBackend(); got != "dogpile.cache.pymemcache" {
		t.Errorf("an unset backend is %q", got)
	}
}

func TestKeystonePublicEndpointFallsBackToTheInternalOne(t *testing.T) {
	for _, test := range []struct {
		spec    CinderSpec
		enabled bool
		want    string
	}{
		{CinderSpec{}, false, ""},
		{CinderSpec{KeystoneEndpoint: "http://internal"}, true, "http://internal"},
		{CinderSpec{KeystoneEndpoint: "http://internal", KeystonePublicEndpoint: "https://public"}, true, "https://public"},
	} {
		if got := test.spec.EffectiveKeystonePublicEndpoint(); got != test.want || test.spec.KeystoneEnabled() != test.enabled {
			t.Errorf("the public endpoint is %q and Keystone is enabled: %t, want %q and %t", got, test.spec.KeystoneEnabled(), test.want, test.enabled)
		}
	}
}

func TestEffectiveServiceUser(t *testing.T) {
	if got := (&CinderSpec{}).EffectiveServiceUser(); got != nil {
		t.Errorf("a spec without a service user has %+v", got)
	}
	spec := CinderSpec{ServiceUser: &ServiceUserSpec{SecretRef: SecretRefSpec{Name: "user"}}}
	want := ServiceUserSpec{
		Username: "cinder", ProjectName: "service", UserDomainName: "Default", ProjectDomainName: "Default",
		SecretRef: SecretRefSpec{Name: "user", Key: "password"},
	}
	if got := spec.EffectiveServiceUser(); *got != want {
		t.Errorf("the service user is %+v, want %+v", *got, want)
	}
	if spec.ServiceUser.Username != "" || spec.ServiceUser.SecretRef.Key != "" {
		t.Error("resolving the defaults changed the spec")
	}
	full := ServiceUserSpec{Username: "u", ProjectName: "p", UserDomainName: "ud", ProjectDomainName: "pd", SecretRef: SecretRefSpec{Name: "s", Key: "k"}}
	if got := (&CinderSpec{ServiceUser: &full}).EffectiveServiceUser(); *got != full {
		t.Errorf("the service user is %+v, want %+v", *got, full)
	}
}

func TestEffectiveSecretStore(t *testing.T) {
	for _, test := range []struct {
		name     string
		ref      *SecretStoreRefSpec
		want     SecretStoreRefSpec
		explicit bool
	}{
		{"no reference", nil, SecretStoreRefSpec{Kind: SecretStoreKindCluster, Name: "openbao-cluster-store"}, false},
		{"a name alone", &SecretStoreRefSpec{Name: "vault"}, SecretStoreRefSpec{Kind: SecretStoreKindCluster, Name: "vault"}, true},
		{"a namespaced store", &SecretStoreRefSpec{Kind: SecretStoreKindNamespaced, Name: "vault"}, SecretStoreRefSpec{Kind: SecretStoreKindNamespaced, Name: "vault"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, explicit := (&CinderSpec{SecretStoreRef: test.ref}).EffectiveSecretStore(); got != test.want || explicit != test.explicit {
				t.Errorf("the store is %+v, explicit: %t; want %+v and %t", got, explicit, test.want, test.explicit)
			}
		})
	}
}

func TestGatewayPath(t *testing.T) {
	if got := (GatewaySpec{}).EffectivePath(); got != "/" {
		t.Errorf("an unset path is %q, want /", got)
	}
	if got := (GatewaySpec{Path: "/volume"}).EffectivePath(); got != "/volume" {
		t.Errorf("the path is %q, want /volume", got)
	}
}
