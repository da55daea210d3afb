// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestIndexesNameWhatAResourceRefersTo(t *testing.T) {
	t.Parallel()
	full := &v1alpha1.Cinder{Spec: v1alpha1.CinderSpec{
		Database:         v1alpha1.DatabaseSpec{SecretRef: v1alpha1.SecretRefSpec{Name: "db"}},
		ServiceUser:      &v1alpha1.ServiceUserSpec{SecretRef: v1alpha1.SecretRefSpec{Name: "shared"}},
		Messaging:        v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "shared"}},
		PolicyOverrides:  &v1alpha1.PolicySpec{ConfigMapRef: &v1alpha1.ConfigMapRefSpec{Name: "policy"}},
		TargetClusterRef: &v1alpha1.TargetClusterRefSpec{Name: "edge"},
	}}
	rbd := &v1alpha1.CinderBackend{Spec: v1alpha1.CinderBackendSpec{
		CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
		RBD:       &v1alpha1.RBDBackendSpec{RBDPoolSpec: v1alpha1.RBDPoolSpec{KeySecretRef: v1alpha1.SecretNameRefSpec{Name: "key"}}},
	}}
	backup := &v1alpha1.CinderBackupBackend{Spec: v1alpha1.CinderBackupBackendSpec{
		CinderRef: v1alpha1.CinderRefSpec{Name: "cinder"},
		RBD:       &v1alpha1.RBDBackupBackendSpec{RBDPoolSpec: v1alpha1.RBDPoolSpec{KeySecretRef: v1alpha1.SecretNameRefSpec{Name: "key"}}},
	}}
	for name, c := range map[string]struct {
		fn   client.IndexerFunc
		obj  client.Object
		want []string
	}{
		"the Secrets of a Cinder, each once":   {indexed(secretsOfCinder), full, []string{"db", "shared"}},
		"a Cinder with a managed bus":          {indexed(secretsOfCinder), &v1alpha1.Cinder{Spec: v1alpha1.CinderSpec{Database: full.Spec.Database}}, []string{"db"}},
		"the ConfigMap of policy overrides":    {indexed(configMapsOfCinder), full, []string{"policy"}},
		"no policy overrides":                  {indexed(configMapsOfCinder), &v1alpha1.Cinder{}, nil},
		"the target cluster":                   {indexed(clusterOfCinder), full, []string{"edge"}},
		"children on the hub":                  {indexed(clusterOfCinder), &v1alpha1.Cinder{}, nil},
		"the key Secret of an RBD backend":     {indexed(secretsOfBackend), rbd, []string{"key"}},
		"an NFS backend names no Secret":       {indexed(secretsOfBackend), &v1alpha1.CinderBackend{}, nil},
		"the key Secret of a backup target":    {indexed(secretsOfBackupBackend), backup, []string{"key"}},
		"the parent of a backend":              {indexed(one(parentOfBackend)), rbd, []string{"cinder"}},
		"the parent of a backup target":        {indexed(one(parentOfBackupBackend)), backup, []string{"cinder"}},
		"an object of another kind has no key": {indexed(secretsOfCinder), rbd, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.fn(c.obj); !slices.Equal(got, c.want) {
				t.Errorf("index is %v, want %v", got, c.want)
			}
		})
	}
}
