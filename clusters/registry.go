// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Registry knows the hub and every registered target cluster.
type Registry struct {
	opts    Options
	bus     *bus
	metrics *clusterMetrics
	mirror  *mirror
	events  recorder

	// settling keeps decisions over the same name in order. It is held across no call: what is decided, is decided from
	// memory.
	settling sync.Mutex

	mu      sync.RWMutex // guards the fields below; never held across a call
	hub     *hub
	life    context.Context // of members; nil before Start and after its end
	grace   time.Time       // until when unread registrations are passed over in silence; zero before Start
	offers  map[string]map[v1alpha1.TargetClusterSource]offer
	members map[string]*member
	ended   map[string]<-chan struct{}            // of members that were removed and may still be closing
	missing map[v1alpha1.TargetClusterSource]bool // sources that have not offered everything yet
	waiters sets.Set[string]                      // names that were asked for before missing was empty

	// running counts what members leave to be done aside.
	running sync.WaitGroup
}

var (
	_ multicluster.Provider         = (*Registry)(nil)
	_ multicluster.ProviderRunnable = (*Registry)(nil)
	_ sink                          = (*Registry)(nil)
)

// New makes a Registry. Nothing is read or connected before Start.
func New(opts Options) (*Registry, error) {
	opts, err := opts.validated()
	if err != nil {
		return nil, err
	}
	r := &Registry{
		opts: opts, bus: newBus(), events: recorder{opts.Recorder},
		offers:  map[string]map[v1alpha1.TargetClusterSource]offer{},
		members: map[string]*member{}, ended: map[string]<-chan struct{}{},
		missing: map[v1alpha1.TargetClusterSource]bool{}, waiters: sets.New[string](),
	}
	if r.metrics, err = newClusterMetrics(opts.Metrics); err != nil {
		return nil, err
	}
	r.mirror = newMirror(r)
	if opts.ClustersNamespace != "" {
		for _, from := range precedence {
			r.missing[from] = true
		}
	}
	if opts.Hub != nil {
		if err := r.SetHub(opts.Hub); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// SetHub gives the cluster that holds the custom resources: the manager's local one. Its cache should be made by NewCache.
// It has to be called before Start.
func (r *Registry) SetHub(cl cluster.Cluster) error {
	h, err := newHub(cl, r.opts, r.bus.object)
	if err != nil {
		return err
	}
	if r.events.EventRecorder == nil {
		r.events = recorder{cl.GetEventRecorder("cinder-operator")}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hub = h
	return nil
}

// SetRecorder gives the recorder of events on registrations where that exists later than Options. It has to be called
// before SetHub, which falls back to the hub's own.
func (r *Registry) SetRecorder(to events.EventRecorder) { r.events = recorder{to} }

// Hub is the Target of the hub, or nil before SetHub. Before the registry has started its cached reads fail.
func (r *Registry) Hub() Target {
	if h := r.theHub(); h != nil {
		return h
	}
	return nil
}

func (r *Registry) theHub() *hub {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.hub
}

// Start reads the registrations and keeps the clusters connected until ctx ends. When it returns, every goroutine and
// every connection of the registry has ended. It does not engage clusters with the manager: see the package comment.
func (r *Registry) Start(ctx context.Context, _ multicluster.Aware) error {
	h := r.theHub()
	if h == nil {
		return errNoHub
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	r.life, r.grace = ctx, time.Now().Add(r.opts.ConnectGrace)
	r.mu.Unlock()

	var own sync.WaitGroup
	own.Go(func() { r.bus.run(ctx) })
	own.Go(func() { h.run(ctx, r.opts, func() { r.bus.changedCluster("") }) })
	if r.opts.ClustersNamespace != "" {
		own.Go(func() {
			if wait(ctx, r.opts.ConnectGrace, nil) {
				r.graceOver()
			}
		})
		own.Go(func() { r.keep(ctx, "mirror", r.mirror.run) })
		for _, src := range r.sources(h) {
			own.Go(func() {
				r.keep(ctx, string(src.kind()), func(ctx context.Context) error { return src.run(ctx, r) })
			})
		}
	}
	<-ctx.Done()
	own.Wait()
	r.end()
	return nil
}

func (r *Registry) sources(h *hub) []registrationSource {
	return []registrationSource{
		&secretSource{hub: h.cluster, namespace: r.opts.ClustersNamespace},
		&capiSource{hub: h, namespace: r.opts.ClustersNamespace, timing: r.opts.Timing, offered: sets.New[string]()},
	}
}

// keep runs f again whenever it gives up.
func (r *Registry) keep(ctx context.Context, what string, f func(context.Context) error) {
	retry := newBackoff(r.opts.RetryMin, r.opts.RetryMax)
	for {
		if err := f(ctx); err != nil && ctx.Err() == nil {
			r.opts.Logger.Error(err, "A part of the registry of clusters failed and is started again", "part", what)
		}
		if !wait(ctx, retry.next(), nil) {
			return
		}
	}
}

// ending tells whether Start is over, or will be shortly.
func (r *Registry) ending() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.life == nil || r.life.Err() != nil
}

// end waits for everything members do; their context has ended.
func (r *Registry) end() {
	r.mu.Lock()
	r.life = nil
	var done []<-chan struct{}
	for _, m := range r.members {
		done = append(done, m.done)
	}
	for _, d := range r.ended {
		done = append(done, d)
	}
	r.mu.Unlock()
	for _, d := range done {
		<-d
	}
	r.running.Wait()
}

func (r *Registry) log(cluster string) logr.Logger {
	return r.opts.Logger.WithValues("cluster", cluster)
}

// Get answers the connected cluster of a name, for multicluster-runtime. What is read and written over it is not guarded:
// the project's own code goes through Resolve.
func (r *Registry) Get(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	if m := r.member(string(name)); m != nil {
		if st := m.st.Load(); st.conn != nil {
			return st.conn.cluster, nil
		}
	}
	return nil, fmt.Errorf("cluster %q: %w", name, multicluster.ErrClusterNotFound)
}

// IndexField indexes a field on the hub. Nothing is indexed on targets: what is cached there is found by its labels.
func (r *Registry) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	h := r.theHub()
	if h == nil {
		return errNoHub
	}
	return h.cluster.GetFieldIndexer().IndexField(ctx, obj, field, extract)
}

// Recount tells that the custom resources whose children live on the cluster may be others than before, or in other
// namespaces. The name is empty for the hub. It does not block.
func (r *Registry) Recount(cluster string) {
	if cluster == "" {
		if h := r.theHub(); h != nil {
			h.inputs.spaces.recount()
		}
		return
	}
	r.mirror.enqueue(cluster)
	if m := r.member(cluster); m != nil {
		if conn := m.st.Load().conn; conn != nil {
			conn.inputs.spaces.recount()
		}
	}
}

func (r *Registry) member(name string) *member {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.members[name]
}

// announce tells of a member's transition: events on the registration, metrics, the mirror, and the custom resources that
// name the cluster.
func (r *Registry) announce(m *member, old, now *state) {
	a := m.reg.Load()
	for source := a.source; ; source = m.reg.Load().source {
		r.metrics.setUp(m.name, source, now.phase == phaseConnected)
		if m.reg.Load().source == source {
			break // no other registration took the name over meanwhile
		}
	}
	if now.phase == old.phase && now.cause == old.cause && now.conn == old.conn && now.tried == old.tried {
		return
	}
	switch {
	case a.refused != nil:
	case now.phase == phaseConnected:
		if old.phase != phaseConnected {
			r.log(m.name).Info("Connected", "server", a.reg.Host(), "version", now.conn.version, "uid", now.conn.uid)
			r.events.eventf(a.ref, corev1.EventTypeNormal, eventConnected, string(now.phase), "Connected to %s, Kubernetes %s", a.reg.Host(), now.conn.version)
		}
	case now.phase != phaseConnecting && (now.phase != old.phase || now.cause != old.cause):
		r.log(m.name).Info("Not connected", "reason", now.phase, "cause", now.cause)
		r.events.eventf(a.ref, corev1.EventTypeWarning, eventUnreachable, string(now.phase), "%s: %s", now.phase, now.cause)
	}
	m.moved()
}
