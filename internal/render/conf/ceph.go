// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
)

// UserKey is the data key of a key Secret that holds the cephx key.
const UserKey = "userKey"

// CephKey checks what a key Secret carries under userKey and returns the
// trimmed cephx key. The error names the Secret and the data key, and never
// holds a key.
func CephKey(secret string, raw []byte) (string, error) {
	key := strings.TrimSpace(string(raw))
	if key == "" {
		return "", fmt.Errorf("Secret %q carries an empty userKey", secret)
	}
	// The decoder skips line breaks, which would go into the keyring as lines
	// of its own.
	if _, err := base64.StdEncoding.DecodeString(key); err != nil || strings.ContainsFunc(key, unicode.IsSpace) {
		return "", fmt.Errorf("Secret %q carries a userKey that is not a cephx key (base64 expected)", secret)
	}
	return key, nil
}

// addCephFiles renders the two files that Ceph's own client reads. Its syntax
// is not oslo.config's: `$cluster` and its like are Ceph's variables and stay.
func addCephFiles(data map[string]string, pool v1alpha1.RBDPoolSpec, key string) error {
	cluster := pool.EffectiveClusterName()
	hosts := make([]string, 0, len(pool.Monitors))
	for _, monitor := range pool.Monitors {
		hosts = append(hosts, string(monitor))
	}
	for _, value := range []struct{ field, text string }{
		{"spec.rbd.pool", pool.Pool},
		{"spec.rbd.user", pool.User},
		{"spec.rbd.clusterName", cluster},
		{"spec.rbd.monitors", strings.Join(hosts, ",")},
		{"the userKey", key},
	} {
		if value.text == "" {
			return fmt.Errorf("%s is empty", value.field)
		}
		if strings.ContainsFunc(value.text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
			return fmt.Errorf("%s carries white space or a control character", value.field)
		}
	}
	// Both become file names under /etc/ceph.
	if strings.ContainsAny(cluster+pool.User, "/[]") {
		return fmt.Errorf(`spec.rbd: clusterName or user carries a "/" or a bracket`)
	}
	// Quotes, comments, variables and continuations of Ceph's own syntax.
	if strings.ContainsAny(cluster+pool.User+strings.Join(hosts, ""), "\"'#;\\$=") {
		return fmt.Errorf("spec.rbd: clusterName, user or a monitor carries a character that Ceph reads as syntax")
	}
	// One that is none would have the API server refuse the rules of the whole NetworkPolicy.
	for i, network := range pool.Networks {
		if prefix, err := netip.ParsePrefix(string(network)); err != nil || !prefix.Addr().Is4() {
			return fmt.Errorf("spec.rbd.networks[%d] is no IPv4 network", i)
		}
	}
	data[render.KeyCephConf] = "[global]\n" +
		"mon_host = " + strings.Join(hosts, ",") + "\n" +
		"keyring = " + render.CephDir + "/" + render.KeyringName(cluster, pool.User) + "\n" +
		"log_file = /dev/null\n" +
		"admin_socket = /tmp/$cluster-$name.$pid.$cctid.asok\n"
	data[render.KeyKeyring] = "[client." + pool.User + "]\n\tkey = " + key + "\n"
	return nil
}

// KeyringKey reads the key back out of a keyring that this package rendered;
// empty for any other text.
func KeyringKey(keyring string) string {
	_, key, _ := strings.Cut(keyring, "\n\tkey = ")
	return strings.TrimSuffix(key, "\n")
}
