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
		{&v1alpha1.Cinder{}, IndexSecretRefs, indexed(secretsOfCinder)},
		{&v1alpha1.Cinder{}, IndexConfigMapRefs, indexed(configMapsOfCinder)},
		{&v1alpha1.Cinder{}, IndexTargetCluster, indexed(clusterOfCinder)},
		{&v1alpha1.CinderBackend{}, IndexSecretRefs, indexed(secretsOfBackend)},
		{&v1alpha1.CinderBackend{}, IndexCinderRef, indexed(one(parentOfBackend))},
		{&v1alpha1.CinderBackupBackend{}, IndexSecretRefs, indexed(secretsOfBackupBackend)},
		{&v1alpha1.CinderBackupBackend{}, IndexCinderRef, indexed(one(parentOfBackupBackend))},
	} {
		if err := indexer.IndexField(context.Background(), index.obj, index.field, index.fn); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.obj, index.field, err)
		}
	}
	return nil
}

// secretsOfCinder is the union of the Secrets whose content the operator reads.
func secretsOfCinder(o *v1alpha1.Cinder) []string {
	spec := &o.Spec
	names := []string{spec.Database.SecretRef.Name}
	if spec.ServiceUser != nil {
		names = append(names, spec.ServiceUser.SecretRef.Name)
	}
	if spec.Messaging.SecretRef != nil {
		names = append(names, spec.Messaging.SecretRef.Name)
	}
	return distinct(names)
}

func configMapsOfCinder(o *v1alpha1.Cinder) []string {
	policy := o.Spec.PolicyOverrides
	if policy == nil || policy.ConfigMapRef == nil {
		return nil
	}
	return []string{policy.ConfigMapRef.Name}
}

func clusterOfCinder(o *v1alpha1.Cinder) []string {
	ref := o.Spec.TargetClusterRef
	if ref == nil {
		return nil
	}
	return []string{ref.Name}
}

func secretsOfBackend(o *v1alpha1.CinderBackend) []string {
	rbd := o.Spec.RBD
	if rbd == nil {
		return nil
	}
	return []string{rbd.KeySecretRef.Name}
}

func secretsOfBackupBackend(o *v1alpha1.CinderBackupBackend) []string {
	rbd := o.Spec.RBD
	if rbd == nil {
		return nil
	}
	return []string{rbd.KeySecretRef.Name}
}

func parentOfBackend(o *v1alpha1.CinderBackend) string { return o.Spec.CinderRef.Name }

func parentOfBackupBackend(o *v1alpha1.CinderBackupBackend) string { return o.Spec.CinderRef.Name }

// indexed makes an index function of one that knows its kind.
func indexed[T client.Object](fn func(T) []string) client.IndexerFunc {
	return func(obj client.Object) []string {
		o, ok := obj.(T)
		if !ok {
			return nil
		}
		return fn(o)
	}
}

func one[T client.Object](fn func(T) string) func(T) []string {
	return func(o T) []string { return []string{fn(o)} }
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
