// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestTheConnectionFollowsTheSpec(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec v1alpha1.DatabaseSpec
		want string
	}{
		"a managed database": {
			v1alpha1.DatabaseSpec{ClusterRef: &v1alpha1.ClusterRefSpec{Name: "mariadb"}, Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: "db"}},
			"mysql+pymysql://volumes:p%40@mariadb.openstack.svc:3306/cinder?charset=utf8mb4",
		},
		"a managed database whose password has a key of its own": {
			v1alpha1.DatabaseSpec{ClusterRef: &v1alpha1.ClusterRefSpec{Name: "mariadb"}, Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: "db", Key: "sql"}},
			"mysql+pymysql://volumes:other@mariadb.openstack.svc:3306/cinder?charset=utf8mb4",
		},
		"a managed database with Dynamic credentials": {
			v1alpha1.DatabaseSpec{ClusterRef: &v1alpha1.ClusterRefSpec{Name: "mariadb"}, Database: "cinder", CredentialsMode: v1alpha1.CredentialsModeDynamic},
			"mysql+pymysql://u:p%40@mariadb.openstack.svc:3306/cinder?charset=utf8mb4",
		},
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
			cr := &v1alpha1.Cinder{ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "volumes"}, Spec: v1alpha1.CinderSpec{Database: c.spec}}
			secret := map[string][]byte{"username": []byte("u"), "password": []byte("p@"), "sql": []byte("other")}
			got, err := databaseOf(cr, secret).URL()
			if err != nil || got != c.want {
				t.Errorf("the DSN is %q, error %v, want %q", got, err, c.want)
			}
		})
	}
}
