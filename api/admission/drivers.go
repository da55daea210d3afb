// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// driver judges the type of a satellite and its blocks.
func driver[T ~string](c *check, path *field.Path, typ T, nfs, rbd bool) {
	enum(c, path.Child("type"), typ, true, T(v1alpha1.CinderBackendTypeNFS), T(v1alpha1.CinderBackendTypeRBD))
	if (typ == T(v1alpha1.CinderBackendTypeNFS)) != nfs || (typ == T(v1alpha1.CinderBackendTypeRBD)) != rbd {
		c.invalid(path, typ, "exactly the block that matches type must be set: nfs for NFS, rbd for RBD")
	}
}

func (c *check) nfs(path *field.Path, n v1alpha1.NFSExportSpec) {
	c.required(path.Child("server"), n.Server, 0, patternNFSServer)
	if n.Path == "" {
		c.errs = append(c.errs, field.Required(path.Child("path"), ""))
	}
	c.optional(path.Child("path"), n.Path, 0, patternNFSPath)
	c.optional(path.Child("mountOptions"), n.MountOptions, 0, patternMountOptions)
	c.noControl(path.Child("mountOptions"), n.MountOptions, n.MountOptions)
}

func (c *check) rbd(path *field.Path, r v1alpha1.RBDPoolSpec) {
	c.required(path.Child("pool"), r.Pool, 64, patternCephName)
	c.noControl(path.Child("pool"), r.Pool, r.Pool)
	c.required(path.Child("user"), r.User, 64, patternCephName)
	c.noControl(path.Child("user"), r.User, r.User)
	if strings.HasPrefix(r.User, "client.") {
		c.invalid(path.Child("user"), r.User, "user must not carry the client. prefix")
	}
	c.optional(path.Child("clusterName"), r.ClusterName, 63, patternCephCluster)
	c.noControl(path.Child("clusterName"), r.ClusterName, r.ClusterName)
	c.monitors(path.Child("monitors"), r.Monitors)
	c.networks(path.Child("networks"), r.Networks)
	if r.KeySecretRef.Name == "" {
		c.errs = append(c.errs, field.Required(path.Child("keySecretRef"), ""))
	}
	c.subdomain(path.Child("keySecretRef"), r.KeySecretRef.Name)
}

func (c *check) monitors(path *field.Path, monitors []v1alpha1.CephHost) {
	if monitors == nil {
		c.errs = append(c.errs, field.Required(path, ""))
	}
	c.count(path, len(monitors), 1, 16)
	for i, monitor := range monitors {
		at := path.Index(i)
		c.required(at, string(monitor), maxNameLength, patternMonitor)
		c.noControl(at, string(monitor), string(monitor))
		if _, text, ok := strings.Cut(string(monitor), ":"); ok {
			if port, err := strconv.ParseUint(text, 10, 64); err != nil || port < 1 || port > 65535 {
				c.invalid(at, monitor, "the port must be between 1 and 65535")
			}
		}
	}
}

func (c *check) networks(path *field.Path, networks []v1alpha1.IPv4CIDR) {
	if networks == nil {
		c.errs = append(c.errs, field.Required(path, ""))
	}
	c.count(path, len(networks), 1, 16)
	for i, network := range networks {
		at, text := path.Index(i), string(network)
		if !patternIPv4CIDR.MatchString(text) {
			c.invalid(at, text, "should match '%s'", patternIPv4CIDR)
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil || !prefix.Addr().Is4() || prefix.Masked().String() != text {
			c.invalid(at, text, "must be an IPv4 CIDR in its canonical form, with the host bits zero")
		}
	}
}

// cinderRef judges the reference to the Cinder, which no update may change. before is nil on create.
func (c *check) cinderRef(path *field.Path, ref v1alpha1.CinderRefSpec, before *v1alpha1.CinderRefSpec) {
	at := path.Child("cinderRef")
	if ref.Name == "" {
		c.errs = append(c.errs, field.Required(at, ""))
	}
	c.reference(at, ref.Name)
	if before != nil && *before != ref {
		c.invalid(at, ref.Name, "cinderRef is immutable")
	}
}
