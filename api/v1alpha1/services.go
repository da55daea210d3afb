// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/utils/ptr"
)

// What unset references and addresses stand for.
const (
	DefaultDatabasePort      int32 = 3306
	MemcachedPort                  = "11211"
	DefaultCacheBackend            = "dogpile.cache.pymemcache"
	DefaultTransportURLKey         = "transport_url"
	DefaultPasswordKey             = "password"
	DefaultCABundleKey             = "ca.crt"
	DefaultSecretStoreName         = "openbao-cluster-store"
	DefaultGatewayPath             = "/"
	DefaultServiceUsername         = "cinder"
	DefaultServiceProject          = "service"
	DefaultServiceDomainName       = "Default"
)

// Reference returns what a container's image field takes: repository@digest, or repository:tag.
func (i ImageSpec) Reference() string {
	if i.Digest != "" {
		return i.Repository + "@" + i.Digest
	}
	return i.Repository + ":" + i.Tag
}

// EffectiveKey returns the key that is read: the one the reference names, or fallback.
func (r SecretRefSpec) EffectiveKey(fallback string) string {
	return or(r.Key, fallback)
}

// Managed says whether mariadb-operator resources provide the database. A brownfield database is one that is not.
func (d DatabaseSpec) Managed() bool {
	return d.ClusterRef != nil
}

// EffectivePort returns the TCP port of the database: 3306 when unset.
func (d DatabaseSpec) EffectivePort() int32 {
	return ptr.Deref(d.Port, DefaultDatabasePort)
}

// EffectiveCredentialsMode returns the mode, Static when unset.
func (d DatabaseSpec) EffectiveCredentialsMode() CredentialsMode {
	return or(d.CredentialsMode, CredentialsModeStatic)
}

// EffectiveMode returns the mode of a tls block: require when the block names none, as admission would have filled in,
// so that a block that came past admission never means plain text. It is empty on nil.
func (t *DatabaseTLSSpec) EffectiveMode() DatabaseTLSMode {
	if t == nil {
		return ""
	}
	return or(t.Mode, DatabaseTLSRequire)
}

// Enabled says whether connections to the database use TLS: there is a tls block, and it is not disabled. It may be
// called on nil.
func (t *DatabaseTLSSpec) Enabled() bool {
	return t != nil && t.EffectiveMode() != DatabaseTLSDisabled
}

// EffectiveServers returns the memcached servers as host:port: the listed ones, or the managed Memcached's Service.
func (c CacheSpec) EffectiveServers() []string {
	if c.ClusterRef != nil {
		return []string{c.ClusterRef.Name + ":" + MemcachedPort}
	}
	return append([]string(nil), c.Servers...)
}

// EffectiveBackend returns the dogpile.cache backend: dogpile.cache.pymemcache when unset.
func (c CacheSpec) EffectiveBackend() string {
	return or(c.Backend, DefaultCacheBackend)
}

// KeystoneEnabled says whether the services authenticate against Keystone. When not, auth_strategy is noauth.
func (s *CinderSpec) KeystoneEnabled() bool {
	return s.KeystoneEndpoint != ""
}

// EffectiveKeystonePublicEndpoint returns the URL of Keystone that clients are referred to: keystoneEndpoint when there
// is no other, and "" without Keystone.
func (s *CinderSpec) EffectiveKeystonePublicEndpoint() string {
	return or(s.KeystonePublicEndpoint, s.KeystoneEndpoint)
}

// EffectiveServiceUser returns the identity of the services with every field set, and nil when the spec has none.
func (s *CinderSpec) EffectiveServiceUser() *ServiceUserSpec {
	if s.ServiceUser == nil {
		return nil
	}
	u := *s.ServiceUser
	return &ServiceUserSpec{
		Username:          or(u.Username, DefaultServiceUsername),
		ProjectName:       or(u.ProjectName, DefaultServiceProject),
		UserDomainName:    or(u.UserDomainName, DefaultServiceDomainName),
		ProjectDomainName: or(u.ProjectDomainName, DefaultServiceDomainName),
		SecretRef:         SecretRefSpec{Name: u.SecretRef.Name, Key: u.SecretRef.EffectiveKey(DefaultPasswordKey)},
	}
}

// EffectiveSecretStore returns the store that has to be ready before credentials are read, and whether the spec names
// it. One it does not name, the ClusterSecretStore openbao-cluster-store, only counts where secret stores are served.
func (s *CinderSpec) EffectiveSecretStore() (store SecretStoreRefSpec, explicit bool) {
	if s.SecretStoreRef == nil {
		return SecretStoreRefSpec{Kind: SecretStoreKindCluster, Name: DefaultSecretStoreName}, false
	}
	store = *s.SecretStoreRef
	store.Kind = or(store.Kind, SecretStoreKindCluster)
	return store, true
}

// EffectivePath returns the path prefix the API is published at: / when unset.
func (g GatewaySpec) EffectivePath() string {
	return or(g.Path, DefaultGatewayPath)
}

// or returns value, or fallback when value is the zero value of its type.
func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
