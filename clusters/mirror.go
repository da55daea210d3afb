// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// mirror writes one TargetCluster per registration, and again when somebody deletes or edits it. It writes only what
// differs from what its watch shows: a fleet that stands still costs no write.
type mirror struct {
	registry *Registry

	mu    sync.Mutex // guards queue; never held across a call
	queue workqueue.TypedRateLimitingInterface[string]
}

// errUnread says that it is not known yet whether the cluster is registered.
var errUnread = errors.New("the registrations are not read yet")

func newMirror(r *Registry) *mirror { return &mirror{registry: r} }

// enqueue asks for a cluster's TargetCluster to be compared. Before run it does nothing: run begins with all of them.
func (m *mirror) enqueue(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queue != nil {
		m.queue.Add(name)
	}
}

func (m *mirror) enqueueAll() {
	for _, name := range m.registry.names() {
		m.enqueue(name)
	}
}

func (m *mirror) run(ctx context.Context) error {
	namespace := m.registry.opts.ClustersNamespace
	h := m.registry.theHub()
	shown, err := newHubCache(h.cluster, namespace, nil)
	if err != nil {
		return err
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](
		m.registry.opts.RetryMin, m.registry.opts.RetryMax))
	m.mu.Lock()
	m.queue = queue
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.queue = nil
		m.mu.Unlock()
		queue.ShutDown()
	}()
	return runCache(ctx, shown, func(ctx context.Context) error {
		if err := m.watch(ctx, shown); err != nil {
			return err
		}
		m.enqueueAll()
		defer context.AfterFunc(ctx, queue.ShutDown)()
		for m.next(ctx, queue, shown) {
		}
		return nil
	})
}

func (m *mirror) watch(ctx context.Context, shown cache.Cache) error {
	namespace := m.registry.opts.ClustersNamespace
	inf, err := shown.GetInformer(ctx, &v1alpha1.TargetCluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch TargetClusters in namespace %s: %w", namespace, err)
	}
	note := func(obj any) {
		if key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			_, name, _ := toolscache.SplitMetaNamespaceKey(key)
			m.enqueue(name)
		}
	}
	handled, err := inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, obj any) { note(obj) }, DeleteFunc: note,
	})
	if err != nil {
		return fmt.Errorf("watch TargetClusters in namespace %s: %w", namespace, err)
	}
	toolscache.WaitForCacheSync(ctx.Done(), handled.HasSynced)
	return nil
}

func (m *mirror) next(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string], shown client.Reader) bool {
	name, down := queue.Get()
	if down {
		return false
	}
	defer queue.Done(name)
	err := m.sync(ctx, name, shown)
	switch {
	case err == nil:
		queue.Forget(name)
	case ctx.Err() != nil:
	case errors.Is(err, errUnread), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		queue.AddRateLimited(name) // either is over in a moment: the watch has not shown the last write yet
	default:
		m.registry.log(name).Error(err, "Writing the TargetCluster failed")
		queue.AddRateLimited(name)
	}
	return true
}

// sync writes what differs between what the registry knows of a cluster and what its TargetCluster shows.
func (m *mirror) sync(ctx context.Context, name string, shown client.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, m.registry.opts.CallTimeout)
	defer cancel()
	writer := m.registry.theHub().cluster.GetClient()
	tc := &v1alpha1.TargetCluster{}
	err := shown.Get(ctx, client.ObjectKey{Namespace: m.registry.opts.ClustersNamespace, Name: name}, tc)
	exists := err == nil
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read TargetCluster %s: %w", name, err)
	}

	known, unread := m.registry.lookup(name)
	switch {
	case known == nil && !exists:
		return nil
	case known == nil && unread:
		return errUnread
	case known == nil:
		if err := writer.Delete(ctx, tc, client.Preconditions{UID: &tc.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete TargetCluster %s: %w", name, err)
		}
		return nil
	case exists && known.starting():
		return nil // what it shows is from before the restart, and most likely true in a moment
	}

	a := known.reg.Load()
	owners := []metav1.OwnerReference{{APIVersion: a.ref.APIVersion, Kind: a.ref.Kind, Name: a.ref.Name, UID: a.ref.UID}}
	if !exists {
		tc = &v1alpha1.TargetCluster{}
		tc.Namespace, tc.Name, tc.OwnerReferences = m.registry.opts.ClustersNamespace, name, owners
		if err := writer.Create(ctx, tc); err != nil {
			return fmt.Errorf("create TargetCluster %s: %w", name, err)
		}
	} else if !equality.Semantic.DeepEqual(tc.OwnerReferences, owners) {
		tc.OwnerReferences = owners
		if err := writer.Update(ctx, tc); err != nil {
			return fmt.Errorf("update TargetCluster %s: %w", name, err)
		}
	}

	was := tc.Status.DeepCopy()
	m.fill(ctx, known, a, tc)
	if equality.Semantic.DeepEqual(was, &tc.Status) {
		return nil
	}
	if err := writer.Status().Update(ctx, tc); err != nil {
		return fmt.Errorf("update the status of TargetCluster %s: %w", name, err)
	}
	return nil
}

// fill writes the picture of a member into tc. What only a connected cluster can tell keeps its last value.
func (m *mirror) fill(ctx context.Context, known *member, a *admitted, tc *v1alpha1.TargetCluster) {
	st := known.st.Load()
	status := &tc.Status
	status.Source = a.source
	status.Server, status.Namespaces, status.AllowedNamespaces = "", nil, nil
	if a.reg != nil {
		status.Server = a.reg.Host()
		status.Namespaces = slices.Clone(a.reg.Namespaces)
		status.AllowedNamespaces = slices.Clone(a.reg.AllowedNamespaces)
	}
	if seen := st.seenNow(); seen != nil {
		status.KubernetesVersion = seen.version
		status.Capabilities = &seen.capabilities
		if seen.rights != nil {
			status.MissingPermissions = slices.Clone(seen.rights.missing)
		}
	}
	if count := m.registry.opts.CountOwners; count != nil {
		n, err := count(ctx, known.name)
		if err == nil {
			status.Cinders = int32(min(n, 1<<30))
		}
	}
	setConditions(tc, a, st)
}
