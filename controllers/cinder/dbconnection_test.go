// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"testing"

	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestTheConnectionFollowsTheSpec(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec v1alpha1.DatabaseSpec
		want string
	}{
		"a port that is not set": {
			v1alpha1.DatabaseSpec{Host: "db", Database: "cinder"},
			"mysql+pymysql://u:p%40@db:3306/cinder?charset=utf8mb4",
		},
		"an IPv6 host": {
			v1alpha1.DatabaseSpec{Host: "fd00::1", Port: ptr.To[int32](3307), Database: "cinder"},
			"mysql+pymysql://u:p%40@[fd00::1]:3307/cinder?charset=utf8mb4",
		},
		"TLS that is disabled": {
			v1alpha1.DatabaseSpec{Host: "db", Database: "cinder", TLS: &v1alpha1.DatabaseTLSSpec{Mode: v1alpha1.DatabaseTLSDisabled}},
			"mysql+pymysql://u:p%40@db:3306/cinder?charset=utf8mb4",
		},
		"TLS with a CA and a client pair": {
			v1alpha1.DatabaseSpec{Host: "db", Database: "cinder", TLS: &v1alpha1.DatabaseTLSSpec{
				Mode: v1alpha1.DatabaseTLSVerifyFull, CABundleSecretRef: &v1alpha1.SecretRefSpec{Name: "ca"}, ClientCertSecretRef: &v1alpha1.SecretRefSpec{Name: "pair"},
			}},
			"mysql+pymysql://u:p%40@db:3306/cinder?charset=utf8mb4&ssl_ca=/etc/cinder-db-tls/ca.crt&ssl_cert=/etc/cinder-db-tls/tls.crt&ssl_key=/etc/cinder-db-tls/tls.key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := databaseOf(&c.spec, "u", "p@").URL()
			if err != nil || got != c.want {
				t.Errorf("the DSN is %q, error %v, want %q", got, err, c.want)
			}
		})
	}
}
