// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// secretSource finds the labelled Secrets of one namespace. Its cache is its own: the manager's holds no Secret that is
// not a child, and this one holds no other.
type secretSource struct {
	hub       cluster.Cluster
	namespace string
}

var _ registrationSource = (*secretSource)(nil)

func (s *secretSource) kind() v1alpha1.TargetClusterSource { return v1alpha1.TargetClusterSourceSecret }

func (s *secretSource) run(ctx context.Context, to sink) error {
	selected := labels.SelectorFromSet(labels.Set{v1alpha1.LabelKubeconfig: "true"})
	return watchOne(ctx, s.hub, s.namespace, selected, &corev1.Secret{}, toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.found(to, obj) },
		UpdateFunc: func(_, obj any) { s.found(to, obj) },
		// A Secret whose label was taken off is deleted as far as this watch goes.
		DeleteFunc: func(obj any) { s.gone(to, obj) },
	}, func() { to.complete(s.kind()) })
}

func (s *secretSource) found(to sink, obj any) {
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	to.offer(s.kind(), offer{
		name: secret.Name,
		data: registrationData{
			Kubeconfig:        secret.Data[v1alpha1.RegistrationKeyKubeconfig],
			Namespaces:        optional(secret.Data, v1alpha1.RegistrationKeyNamespaces),
			AllowedNamespaces: optional(secret.Data, v1alpha1.RegistrationKeyAllowedNamespaces),
			APIServerCIDRs:    optional(secret.Data, v1alpha1.RegistrationKeyAPIServerCIDRs),
		},
		ref: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Secret", Namespace: secret.Namespace, Name: secret.Name, UID: secret.UID,
		},
	})
}

func (s *secretSource) gone(to sink, obj any) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if secret, ok := obj.(*corev1.Secret); ok {
		to.withdraw(s.kind(), secret.Name)
	}
}

func optional(data map[string][]byte, key string) *string {
	raw, ok := data[key]
	if !ok {
		return nil
	}
	s := string(raw)
	return &s
}

// watchOne watches one kind in one namespace of the hub until ctx ends, in a cache of its own, and calls synced when the
// handler has been told of everything there was.
func watchOne(ctx context.Context, hub cluster.Cluster, namespace string, selector labels.Selector, obj hubObject, handler toolscache.ResourceEventHandler, synced func()) error {
	c, err := newHubCache(hub, namespace, selector)
	if err != nil {
		return err
	}
	return runCache(ctx, c, func(ctx context.Context) error {
		inf, err := c.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T in namespace %s: %w", obj, namespace, err)
		}
		handled, err := inf.AddEventHandler(handler)
		if err != nil {
			return fmt.Errorf("watch %T in namespace %s: %w", obj, namespace, err)
		}
		if toolscache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
			synced()
		}
		<-ctx.Done()
		return nil
	})
}
