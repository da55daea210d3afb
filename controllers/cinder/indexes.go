// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// The field indexes. The satellite controllers read those of their kinds.
const (
	// IndexSecretRefs lists the Secrets that a resource names.
	IndexSecretRefs = "spec.secretRefs.name"
	// IndexConfigMapRefs lists the ConfigMaps that a Cinder names.
	IndexConfigMapRefs = "spec.configMapRefs.name"
	// IndexCinderRef is the parent of a satellite.
	IndexCinderRef = "spec.cinderRef.name"
	// IndexTargetCluster is the cluster that a Cinder names.
	IndexTargetCluster = "spec.targetClusterRef.name"
)

// addIndexes registers every index with the hub's cache.
func addIndexes(indexer client.FieldIndexer) error {
	for _, index := range []struct {
		obj   client.Object
		field string
		fn    client.IndexerFunc
	}{
		{&v1alpha1.Cinder{}, IndexSecretRefs, secretsOfCinder},
		{&v1alpha1.Cinder{}, IndexConfigMapRefs, configMapsOfCinder},
		{&v1alpha1.Cinder{}, IndexTargetCluster, clusterOfCinder},
		{&v1alpha1.CinderBackend{}, IndexSecretRefs, secretsOfBackend},
		{&v1alpha1.CinderBackend{}, IndexCinderRef, parentNameOfBackend},
		{&v1alpha1.CinderBackupBackend{}, IndexSecretRefs, secretsOfBackupBackend},
		{&v1alpha1.CinderBackupBackend{}, IndexCinderRef, parentNameOfBackupBackend},
	} {
		if err := indexer.IndexField(context.Background(), index.obj, index.field, index.fn); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.obj, index.field, err)
		}
	}
	return nil
}

// secretsOfCinder is the union of the Secrets whose content the operator reads.
func secretsOfCinder(obj client.Object) []string {
	spec := &obj.(*v1alpha1.Cinder).Spec
	names := []string{spec.Database.SecretRef.Name}
	if spec.ServiceUser != nil {
		names = append(names, spec.ServiceUser.SecretRef.Name)
	}
	if spec.Messaging.SecretRef != nil {
		names = append(names, spec.Messaging.SecretRef.Name)
	}
	return distinct(names)
}

func configMapsOfCinder(obj client.Object) []string {
	policy := obj.(*v1alpha1.Cinder).Spec.PolicyOverrides
	if policy == nil || policy.ConfigMapRef == nil {
		return nil
	}
	return []string{policy.ConfigMapRef.Name}
}

func clusterOfCinder(obj client.Object) []string {
	ref := obj.(*v1alpha1.Cinder).Spec.TargetClusterRef
	if ref == nil {
		return nil
	}
	return []string{ref.Name}
}

func secretsOfBackend(obj client.Object) []string {
	rbd := obj.(*v1alpha1.CinderBackend).Spec.RBD
	if rbd == nil {
		return nil
	}
	return []string{rbd.KeySecretRef.Name}
}

func secretsOfBackupBackend(obj client.Object) []string {
	rbd := obj.(*v1alpha1.CinderBackupBackend).Spec.RBD
	if rbd == nil {
		return nil
	}
	return []string{rbd.KeySecretRef.Name}
}

func parentNameOfBackend(obj client.Object) []string {
	return []string{obj.(*v1alpha1.CinderBackend).Spec.CinderRef.Name}
}

func parentNameOfBackupBackend(obj client.Object) []string {
	return []string{obj.(*v1alpha1.CinderBackupBackend).Spec.CinderRef.Name}
}

func distinct(names []string) []string {
	seen := map[string]bool{"": true}
	var out []string
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}
