// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const cleanTimeout = time.Minute

var (
	namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	groupKinds    = []string{"Cinder", "CinderBackend", "CinderBackupBackend", "TargetCluster"}
	// keptKinds make a cluster another one than it was.
	keptKinds = []schema.GroupVersionKind{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
		{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"},
		{Version: "v1", Kind: "Node"},
		{Version: "v1", Kind: "PersistentVolume"},
	}
	// litter are kinds whose objects a suite may leave in a namespace that stays.
	// Decisions of the lab on the ends of Jobs are ConfigMaps.
	litter = []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		{Group: "batch", Version: "v1", Kind: "CronJob"},
		{Group: "batch", Version: "v1", Kind: "Job"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
		{Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "PersistentVolumeClaim"},
		{Version: "v1", Kind: "ResourceQuota"},
		{Version: "v1", Kind: "Secret"},
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ServiceAccount"},
	}
)

// object is one that a cluster has, whatever is in it.
type object struct {
	kind schema.GroupVersionKind
	key  client.ObjectKey
}

func (o object) String() string { return o.kind.Kind + " " + strings.TrimPrefix(o.key.String(), "/") }

func (o object) metadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: o.key.Name, Namespace: o.key.Namespace}}
	m.SetGroupVersionKind(o.kind)
	return m
}

// clean brings the lab back to what it was when the suite took it, or says why
// that cannot be.
func (l *Lab) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	if n := operators.Load(); n > 0 {
		return fmt.Errorf("%d operators run", n)
	}
	if err := l.healthy(); err != nil {
		return err
	}
	if err := l.Hub.removeResources(ctx); err != nil {
		return err
	}
	clusters := []*Cluster{l.Hub}
	for _, c := range l.Targets {
		clusters = append(clusters, c)
	}
	for _, c := range clusters {
		if err := c.clean(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// healthy finds every API server at work and every pod answering as it does in a
// new lab.
func (l *Lab) healthy() error {
	out, err := l.runFor(commandTimeout, "status")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	var status struct {
		Problems []string
		Clusters []struct {
			Name, State string
			Problems    []string
			Health      []any
			Webhooks    map[string]string
		}
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		return fmt.Errorf("read the lab's status: %w", err)
	}
	if len(status.Problems) > 0 {
		return fmt.Errorf("the lab has problems: %q", status.Problems)
	}
	for _, c := range status.Clusters {
		if c.State != "running" || len(c.Problems) > 0 || len(c.Health) > 0 || len(c.Webhooks) > 0 {
			return fmt.Errorf("%s is %s, has the problems %q, rules for pods %v and webhooks %v", c.Name, c.State, c.Problems, c.Health, c.Webhooks)
		}
	}
	return nil
}

// removeResources deletes what the hub has of the operator's group, and the
// registrations. No operator is left to sweep, so nothing is waited for: children
// go with their namespaces.
func (c *Cluster) removeResources(ctx context.Context) error {
	secrets, err := c.objects(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, client.MatchingLabels{v1alpha1.LabelKubeconfig: "true"})
	if err != nil {
		return err
	}
	for _, o := range secrets {
		if err := c.remove(ctx, o); err != nil {
			return err
		}
	}
	for _, kind := range groupKinds {
		gvk := v1alpha1.GroupVersion.WithKind(kind)
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			left, err := c.objects(ctx, gvk)
			for _, o := range left {
				err = errors.Join(err, c.remove(ctx, o))
			}
			return len(left) == 0, err
		})
		if err != nil {
			return fmt.Errorf("remove every %s: %w", kind, err)
		}
	}
	return nil
}

// clean deletes what the cluster did not have when the suite took it: namespaces,
// and objects in those that stay. Anything else that differs is an error.
func (c *Cluster) clean(ctx context.Context) error {
	now, err := c.inventory(ctx)
	if err != nil {
		return err
	}
	for o := range c.had {
		if !now[o] {
			return fmt.Errorf("%s is gone", o)
		}
	}
	for o := range now {
		if c.had[o] || o.key.Namespace != "" && !c.had[object{namespaceKind, client.ObjectKey{Name: o.key.Namespace}}] {
			continue
		}
		if o.key.Namespace == "" && o.kind != namespaceKind {
			return fmt.Errorf("%s is new", o)
		}
		if err := c.remove(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// inventory is what clean compares. A namespace on its way out is not there.
func (c *Cluster) inventory(ctx context.Context) (map[object]bool, error) {
	out := map[object]bool{}
	for _, kinds := range [][]schema.GroupVersionKind{{namespaceKind}, keptKinds, litter} {
		for _, kind := range kinds {
			objs, err := c.objects(ctx, kind)
			if err != nil {
				return nil, err
			}
			for _, o := range objs {
				out[o] = true
			}
		}
	}
	return out, nil
}

// objects lists a kind, without what is being deleted and what comes with a CRD.
func (c *Cluster) objects(ctx context.Context, kind schema.GroupVersionKind, opts ...client.ListOption) ([]object, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("list %s on %s: %w", kind.Kind, c.Name, err)
	}
	var out []object
	for i := range list.Items {
		o := &list.Items[i]
		if kind == namespaceKind && o.DeletionTimestamp != nil || o.Labels["kube-aggregator.kubernetes.io/automanaged"] != "" {
			continue
		}
		out = append(out, object{kind, client.ObjectKeyFromObject(o)})
	}
	return out, nil
}

// remove deletes an object whoever holds it.
func (c *Cluster) remove(ctx context.Context, o object) error {
	err := c.Client.Delete(ctx, o.metadata(), client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err == nil && o.kind != namespaceKind {
		err = c.Client.Patch(ctx, o.metadata(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove %s from %s: %w", o, c.Name, err)
	}
	return nil
}
