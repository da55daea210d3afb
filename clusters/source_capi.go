// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	capikubeconfig "sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

var gvkCluster = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}

const (
	// capiNameLabel is on every Secret that Cluster API keeps for a cluster.
	capiNameLabel = "cluster.x-k8s.io/cluster-name"
	// capiKubeconfig is what Cluster API appends to the name of a cluster to name its kubeconfig Secret.
	capiKubeconfig = "-kubeconfig"
)

// capiSource finds the Clusters of Cluster API that are opted in. It watches them and the metadata of Cluster API's own
// Secrets; a kubeconfig is read when one of the two moves, and not kept.
type capiSource struct {
	hub       *hub
	namespace string
	timing    Timing

	mu sync.Mutex // guards offered; never held across a call
	// offered are the names whose registration was read once. A later failure to read it changes nothing of it.
	offered sets.Set[string]
}

// capiWorkers is how many kubeconfigs are read at the same time: one that the hub does not answer for holds up no other.
const capiWorkers = 4

var _ registrationSource = (*capiSource)(nil)

func (s *capiSource) kind() v1alpha1.TargetClusterSource {
	return v1alpha1.TargetClusterSourceClusterAPI
}

func (s *capiSource) run(ctx context.Context, to sink) error {
	if !s.served(ctx, to) {
		return nil
	}
	optedIn := labels.SelectorFromSet(labels.Set{v1alpha1.LabelTarget: "true"})
	ofClusterAPI, err := labels.NewRequirement(capiNameLabel, selection.Exists, nil)
	if err != nil {
		return err
	}
	clusters, err := newHubCache(s.hub.cluster, s.namespace, optedIn)
	if err != nil {
		return err
	}
	secrets, err := newHubCache(s.hub.cluster, s.namespace, labels.NewSelector().Add(*ofClusterAPI))
	if err != nil {
		return err
	}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](s.timing.RetryMin, s.timing.RetryMax))
	defer q.ShutDown()
	return runCache(ctx, clusters, func(ctx context.Context) error {
		return runCache(ctx, secrets, func(ctx context.Context) error {
			if err := s.watch(ctx, clusters, secrets, q); err != nil {
				return err
			}
			return s.work(ctx, to, clusters, q)
		})
	})
}

// served waits until the hub serves Clusters. While it does not, nothing is registered this way.
func (s *capiSource) served(ctx context.Context, to sink) bool {
	select {
	case <-ctx.Done():
		return false
	case <-s.hub.asked:
	}
	for {
		ok, err := s.hub.served.Load().has(gvkCluster)
		if ok {
			return true
		}
		if err == nil {
			to.complete(s.kind())
		}
		if !wait(ctx, min(s.timing.RetryMax, time.Second), nil) {
			return false
		}
	}
}

func newCluster() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvkCluster)
	return u
}

func (s *capiSource) watch(ctx context.Context, clusters, secrets cache.Cache, q workqueue.TypedInterface[string]) error {
	note := func(name func(string) (string, bool)) toolscache.ResourceEventHandler {
		add := func(obj any) {
			key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(obj)
			if err != nil {
				return
			}
			if cluster, ok := name(key[strings.Index(key, "/")+1:]); ok {
				q.Add(cluster)
			}
		}
		return toolscache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add}
	}
	own := func(name string) (string, bool) { return name, true }
	owner := func(name string) (string, bool) { return strings.CutSuffix(name, capiKubeconfig) }
	for _, one := range []struct {
		cache.Cache
		client.Object
		toolscache.ResourceEventHandler
	}{{secrets, metadataOf(gvkSecret), note(owner)}, {clusters, newCluster(), note(own)}} {
		inf, err := one.GetInformer(ctx, one.Object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %s in namespace %s: %w", one.GetObjectKind().GroupVersionKind().Kind, s.namespace, err)
		}
		handled, err := inf.AddEventHandler(one.ResourceEventHandler)
		if err != nil {
			return fmt.Errorf("watch %s in namespace %s: %w", one.GetObjectKind().GroupVersionKind().Kind, s.namespace, err)
		}
		toolscache.WaitForCacheSync(ctx.Done(), handled.HasSynced)
	}
	return ctx.Err()
}

// work offers what the queue names. The source is complete when what was there at the start was offered.
func (s *capiSource) work(ctx context.Context, to sink, clusters client.Reader, q workqueue.TypedRateLimitingInterface[string]) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvkCluster.GroupVersion().WithKind(gvkCluster.Kind + "List"))
	if err := clusters.List(ctx, list); err != nil {
		return fmt.Errorf("list Clusters in namespace %s: %w", s.namespace, err)
	}
	var (
		mu      sync.Mutex // guards initial
		initial = sets.New[string]()
	)
	for i := range list.Items {
		initial.Insert(list.Items[i].GetName())
		q.Add(list.Items[i].GetName())
	}
	if len(initial) == 0 {
		to.complete(s.kind())
	}
	defer context.AfterFunc(ctx, q.ShutDown)()
	var workers sync.WaitGroup
	for range capiWorkers {
		workers.Go(func() {
			for {
				name, down := q.Get()
				if down {
					return
				}
				if s.next(ctx, to, clusters, q, name) {
					mu.Lock()
					last := initial.Has(name) && len(initial) == 1
					initial.Delete(name)
					mu.Unlock()
					if last {
						to.complete(s.kind())
					}
				}
				q.Done(name)
			}
		})
	}
	workers.Wait()
	return nil
}

// next settles a name, and tells whether there is an offer for it now, or nothing to offer. One failure may be over in a
// moment; what cannot be read for longer is registered all the same, so that nobody takes it for deregistered, and says so.
func (s *capiSource) next(ctx context.Context, to sink, clusters client.Reader, q workqueue.TypedRateLimitingInterface[string], name string) bool {
	err := s.settle(ctx, to, clusters, name)
	if err == nil {
		q.Forget(name)
		return true
	}
	failures := q.NumRequeues(name)
	q.AddRateLimited(name)
	s.mu.Lock()
	known := s.offered.Has(name)
	s.mu.Unlock()
	var unread *unreadError
	if !known && failures > 0 && ctx.Err() == nil && errors.As(err, &unread) {
		o := unread.offer
		o.data.Missing = "cannot be read from the hub, which is tried again: " + describe(unread.err)
		to.offer(s.kind(), o)
	}
	return known || failures > 0
}

// unreadError says that the kubeconfig of a Cluster could not be read.
type unreadError struct {
	offer offer // without it
	err   error
}

func (e *unreadError) Error() string {
	return fmt.Sprintf("read the kubeconfig of Cluster %s: %v", e.offer.name, e.err)
}
func (e *unreadError) Unwrap() error { return e.err }

func (s *capiSource) offer(to sink, o offer) {
	s.mu.Lock()
	s.offered.Insert(o.name)
	s.mu.Unlock()
	to.offer(s.kind(), o)
}

func (s *capiSource) settle(ctx context.Context, to sink, clusters client.Reader, name string) error {
	ctx, cancel := context.WithTimeout(ctx, s.timing.CallTimeout)
	defer cancel()
	key := client.ObjectKey{Namespace: s.namespace, Name: name}
	cluster := newCluster()
	err := clusters.Get(ctx, key, cluster)
	switch {
	case apierrors.IsNotFound(err):
		s.mu.Lock()
		s.offered.Delete(name)
		s.mu.Unlock()
		to.withdraw(s.kind(), name)
		return nil
	case err != nil:
		return fmt.Errorf("get Cluster %s: %w", key, err)
	}
	o := offer{name: name, ref: corev1.ObjectReference{
		APIVersion: gvkCluster.GroupVersion().String(), Kind: gvkCluster.Kind, Namespace: s.namespace, Name: name, UID: cluster.GetUID(),
	}}
	o.data.Namespaces = annotation(cluster, v1alpha1.AnnotationNamespaces)
	o.data.AllowedNamespaces = annotation(cluster, v1alpha1.AnnotationAllowedNamespaces)
	o.data.APIServerCIDRs = annotation(cluster, v1alpha1.AnnotationAPIServerCIDRs)
	initialized, _, _ := unstructured.NestedBool(cluster.Object, "status", "initialization", "controlPlaneInitialized")
	if !initialized {
		// Its status may also have been lost, in a move from one hub to another: it is registered all the same, so that
		// nobody takes it for deregistered.
		o.data.Missing = "is not there yet: the control plane of the Cluster is not initialised"
		s.offer(to, o)
		return nil
	}
	o.data.Kubeconfig, err = capikubeconfig.FromSecret(ctx, s.hub.cluster.GetAPIReader(), key)
	switch {
	case apierrors.IsNotFound(err):
		o.data.Missing = "is missing: there is no Secret " + name + capiKubeconfig
	case err != nil && strings.HasPrefix(err.Error(), "missing key"): // the helper has no type for it
		o.data.Missing = "is missing: the Secret " + name + capiKubeconfig + " has no key value"
	case err != nil:
		return &unreadError{o, err}
	}
	s.offer(to, o)
	return nil
}

func annotation(obj client.Object, key string) *string {
	if v, ok := obj.GetAnnotations()[key]; ok {
		return &v
	}
	return nil
}
