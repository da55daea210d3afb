// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/url"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func (c *check) image(path *field.Path, image v1alpha1.ImageSpec) {
	c.required(path.Child("repository"), image.Repository, 0, patternRepository)
	c.optional(path.Child("tag"), image.Tag, 0, patternTag)
	c.optional(path.Child("digest"), image.Digest, 0, patternDigest)
	if (image.Tag != "") == (image.Digest != "") {
		c.invalid(path, image.Repository, "exactly one of image.tag or image.digest must be set")
	}
}

func (c *check) database(path *field.Path, d v1alpha1.DatabaseSpec) {
	if d.ClusterRef != nil {
		c.reference(path.Child("clusterRef"), d.ClusterRef.Name)
	}
	if (d.ClusterRef != nil) == (d.Host != "") {
		c.invalid(path, d.Database, "exactly one of clusterRef or host must be set")
	}
	c.optional(path.Child("host"), d.Host, 0, patternHost)
	atLeast(c, path.Child("port"), d.Port, 1)
	if d.Port != nil && *d.Port > 65535 {
		c.invalid(path.Child("port"), *d.Port, "should be less than or equal to 65535")
	}
	c.required(path.Child("database"), d.Database, 64, patternDatabase)
	c.secret(path.Child("secretRef"), d.SecretRef)
	enum(c, path.Child("credentialsMode"), d.CredentialsMode, false, v1alpha1.CredentialsModeStatic, v1alpha1.CredentialsModeDynamic)
	if d.CredentialsMode == v1alpha1.CredentialsModeDynamic && d.ClusterRef == nil {
		c.invalid(path, d.CredentialsMode, "credentialsMode Dynamic requires clusterRef (managed mode)")
	}
	if d.TLS != nil {
		tls := path.Child("tls")
		enum(c, tls.Child("mode"), d.TLS.Mode, false, v1alpha1.DatabaseTLSDisabled, v1alpha1.DatabaseTLSPrefer,
			v1alpha1.DatabaseTLSRequire, v1alpha1.DatabaseTLSVerifyCA, v1alpha1.DatabaseTLSVerifyFull)
		if d.TLS.CABundleSecretRef != nil {
			c.secret(tls.Child("caBundleSecretRef"), *d.TLS.CABundleSecretRef)
		}
		if d.TLS.ClientCertSecretRef != nil {
			c.secret(tls.Child("clientCertSecretRef"), *d.TLS.ClientCertSecretRef)
		}
	}
	atLeast(c, path.Child("replicas"), d.Replicas, 1)
	c.optional(path.Child("storageSize"), d.StorageSize, 0, patternStorageSize)
}

// secret wants a reference to a Secret.
func (c *check) secret(path *field.Path, ref v1alpha1.SecretRefSpec) {
	if ref == (v1alpha1.SecretRefSpec{}) {
		c.errs = append(c.errs, field.Required(path, ""))
	}
	c.subdomain(path, ref.Name)
}

func (c *check) cache(path *field.Path, cache v1alpha1.CacheSpec) {
	if cache.ClusterRef != nil {
		c.reference(path.Child("clusterRef"), cache.ClusterRef.Name)
		if controlIn(cache.ClusterRef.Name) == msgNewline {
			c.invalid(path, cache.ClusterRef.Name, "clusterRef.name must not contain a newline")
		}
	}
	if (cache.ClusterRef != nil) == (len(cache.Servers) > 0) {
		c.invalid(path, cache.Backend, "exactly one of clusterRef or servers must be set")
	}
	servers := path.Child("servers")
	c.count(servers, len(cache.Servers), 0, 32)
	for i, server := range cache.Servers {
		if server == "" {
			c.invalid(servers.Index(i), server, "should match '%s'", patternOneLine)
		}
		c.optional(servers.Index(i), server, maxNameLength, patternOneLine)
	}
	c.noControl(path.Child("backend"), cache.Backend, cache.Backend)
	atLeast(c, path.Child("replicas"), cache.Replicas, 1)
}

func (c *check) messaging(path *field.Path, m v1alpha1.MessagingSpec) {
	if m.ClusterRef != nil {
		c.reference(path.Child("clusterRef"), m.ClusterRef.Name)
	}
	if m.SecretRef != nil {
		c.secret(path.Child("secretRef"), *m.SecretRef)
	}
	if (m.ClusterRef != nil) == (m.SecretRef != nil) {
		c.invalid(path, "", "exactly one of clusterRef or secretRef must be set")
	}
	if m.TLS != nil {
		c.secret(path.Child("tls", "caBundleSecretRef"), m.TLS.CABundleSecretRef)
	}
}

// endpoint wants a URL, where there is one, that leads somewhere.
func (c *check) endpoint(path *field.Path, endpoint string, must bool) {
	if endpoint == "" {
		if must {
			c.errs = append(c.errs, field.Required(path, ""))
		}
		return
	}
	if !patternEndpoint.MatchString(endpoint) {
		c.invalid(path, endpoint, "should match '%s'", patternEndpoint)
		return
	}
	if u, err := url.Parse(endpoint); err != nil || u.Hostname() == "" {
		c.invalid(path, endpoint, "must be a URL with a host")
	}
}

func (c *check) serviceUser(path *field.Path, u *v1alpha1.ServiceUserSpec) {
	if u == nil {
		return
	}
	for _, f := range []struct{ name, value string }{
		{"username", u.Username},
		{"projectName", u.ProjectName},
		{"userDomainName", u.UserDomainName},
		{"projectDomainName", u.ProjectDomainName},
	} {
		c.noControl(path.Child(f.name), f.value, f.value)
	}
	c.secret(path.Child("secretRef"), u.SecretRef)
}

func (c *check) keyManager(path *field.Path, k *v1alpha1.KeyManagerSpec, keystone bool) {
	if k == nil {
		return
	}
	enum(c, path.Child("type"), k.Type, true, v1alpha1.KeyManagerBarbican)
	if (k.Type == v1alpha1.KeyManagerBarbican) != (k.Barbican != nil) {
		c.invalid(path, k.Type, "barbican must be set exactly when type is Barbican")
	}
	if k.Barbican != nil {
		c.endpoint(path.Child("barbican", "endpoint"), k.Barbican.Endpoint, true)
	}
	if !keystone {
		c.invalid(path, k.Type, "keyManager requires keystoneEndpoint (castellan authenticates against Keystone)")
	}
}

func (c *check) secretStore(path *field.Path, s *v1alpha1.SecretStoreRefSpec) {
	if s == nil {
		return
	}
	enum(c, path.Child("kind"), s.Kind, false, v1alpha1.SecretStoreKindCluster, v1alpha1.SecretStoreKindNamespaced)
	c.required(path.Child("name"), s.Name, 0, nil)
}
