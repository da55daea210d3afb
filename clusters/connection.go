// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// errSync marks an attempt that reached the cluster but could not fill its caches.
var errSync = errors.New("the caches did not synchronise")

// connection is one connection to a target cluster: its transport, its caches and what was found out over it. It is
// never repaired: when it was lost, or its registration changed in more than the token, another one takes its place.
type connection struct {
	name string
	reg  *Registration
	log  logr.Logger

	// life ends everything that belongs to the connection.
	life    context.Context
	endLife context.CancelFunc
	timing  Timing
	rt      *transport
	silence *silence
	http    *http.Client
	cfg     *rest.Config
	mapper  discoMapper
	cluster cluster.Cluster

	informers *informerSet
	inputs    *inputs
	// apiServers is asked by network policies alone.
	apiServers apiServers
	client     client.Client
	reader     client.Reader
	uid        types.UID
	// identified is how many sockets had been opened when the cluster was last asked who it is.
	identified atomic.Int64
	version    string
	// needs are what the account has to be permitted, and rights what it was found to lack; nil before it was asked.
	needs  []Permission
	rights atomic.Pointer[rights]
	// limit are the namespaces that everything is limited to, if limited.
	limit   []string
	limited bool

	// kick asks the member for a probe, and for a discovery if wantDiscovery is set.
	kick          func()
	wantDiscovery atomic.Bool
	// changed tells that the cluster serves other kinds.
	changed func()
	// ending tells whether the whole registry ends.
	ending func() bool

	// lost is set by the first call that failed with the connection and cleared by a good probe, soon after; past is the
	// one that was cleared last.
	lost, past atomic.Pointer[loss]

	mu       sync.Mutex // guards the fields below; never held across a call
	closing  bool
	inflight int
	idle     chan struct{} // closed when closing and the last call has returned

	// running counts the goroutines of the connection.
	running sync.WaitGroup
	syncing atomic.Bool
}

type connectionHooks struct {
	emit     func(Event)
	kick     func()
	changed  func()
	observed func(verb, code string)
	// serves tells whether custom resources of a namespace may use the cluster.
	serves func(namespace string) bool
	// ending tells whether the registry itself ends, and every connection with it.
	ending func() bool
}

// connect makes a connection and brings it into service: probe, version, identity, discovery, caches. It returns when ctx
// ends, and leaves nothing behind when it fails. Life, not ctx, is what the connection lives on.
func connect(ctx, life context.Context, name string, reg *Registration, opts *Options, hooks connectionHooks) (*connection, error) {
	c := &connection{
		name: name, reg: reg, timing: opts.Timing, kick: hooks.kick, changed: hooks.changed, ending: hooks.ending,
		idle: make(chan struct{}),
		log:  opts.Logger.WithValues("cluster", name), needs: opts.Permissions,
	}
	c.limit, c.limited = reg.limitedTo(opts.Namespace)
	c.life, c.endLife = context.WithCancel(life)
	// A cluster that sends too much is not waited for: its caches will not synchronise.
	ctx, giveUp := context.WithCancelCause(ctx)
	// Not all of an attempt takes a context; this way it ends with the attempt all the same.
	unlink := context.AfterFunc(ctx, c.endLife)
	err := c.open(ctx, opts, hooks, giveUp)
	if !unlink() && (err == nil || errors.Is(context.Cause(ctx), errTooMuch)) {
		err = fmt.Errorf("%w: %w", errSync, context.Cause(ctx))
	}
	if err != nil {
		c.close(0)
		return nil, err
	}
	return c, nil
}

func (c *connection) open(ctx context.Context, opts *Options, hooks connectionHooks, giveUp context.CancelCauseFunc) error {
	var err error
	c.silence = newSilence(c.timing.Patience, c.kick, c.changed)
	observed := func(verb, code string) {
		if code != observedError {
			c.silence.heard()
		}
		hooks.observed(verb, code)
	}
	if c.rt, err = newTransport(c.life, c.reg, c.timing, opts.AllowLocal, observed); err != nil {
		return err
	}
	c.rt.intake = newIntake(opts.Limits)
	c.rt.intake.exceeded = func(e *excess) {
		giveUp(e) // of no effect once the connection serves
		c.kick()
	}
	c.rt.sockets.onOpen = c.kick
	c.http = &http.Client{
		Transport: c.rt,
		// A redirect is an answer like another: followed, it could carry the credential elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	// The configuration carries no credential and no CA: whoever gets hold of it can make nothing of it.
	c.cfg = &rest.Config{Host: c.reg.Server.String(), Transport: c.rt, QPS: -1, UserAgent: rest.DefaultKubernetesUserAgent()}
	c.mapper.onMiss = c.discoverSoon

	if err := c.probe(ctx); err != nil {
		return err
	}
	if c.version, err = c.readVersion(ctx); err != nil {
		return fmt.Errorf("get /version: %w", err)
	}
	now, err := c.discover(ctx, nil)
	if err != nil {
		return err
	}
	c.mapper.current.Store(now)
	if err := c.makeClients(opts, hooks); err != nil {
		return err
	}
	if err := c.identify(ctx); err != nil {
		return err
	}
	c.running.Go(func() {
		if err := c.cluster.Start(c.life); err != nil {
			c.log.Error(err, "The caches ended")
		}
	})
	if !c.cluster.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("%w: %w", errSync, context.Cause(ctx))
	}
	c.running.Go(func() { c.inputs.run(c.life) })
	var asked sync.WaitGroup
	defer asked.Wait()
	asked.Go(func() { c.review(ctx, now) })
	if _, err := c.informers.sync(ctx, now); err != nil {
		return fmt.Errorf("%w: %w", errSync, err)
	}
	return nil
}

func (c *connection) makeClients(opts *Options, hooks connectionHooks) error {
	var err error
	c.cluster, err = cluster.New(c.cfg, func(o *cluster.Options) {
		o.Scheme = opts.Scheme
		o.HTTPClient = c.http
		o.Logger = c.log
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return &c.mapper, nil }
		o.NewCache = NewCache(opts.Children, opts.ChildSelector)
		// The reflectors' own words for it name no cluster, and come once per kind and attempt.
		o.Cache.DefaultWatchErrorHandler = func(_ context.Context, r *toolscache.Reflector, err error) {
			c.log.V(1).Info("A watch failed", "type", r.TypeDescription(), "cause", describe(err))
		}
		o.Client.Cache = &client.CacheOptions{Unstructured: true}
		if len(c.limit) > 0 {
			o.Cache.DefaultNamespaces = map[string]cache.Config{}
			for _, ns := range c.limit {
				o.Cache.DefaultNamespaces[ns] = cache.Config{}
			}
		}
	})
	if err != nil {
		return fmt.Errorf("make the clients: %w", err)
	}
	tell := func(ev Event) {
		// What an informer of a replaced connection still says is not news of the cluster.
		if !c.isClosing() {
			hooks.emit(ev)
		}
	}
	children, references := opts.Children, opts.References
	if c.limited && len(c.limit) == 0 {
		children, references = nil, nil // no custom resource can be served here
	}
	c.informers, err = newInformerSet(c.name, opts.Scheme, c.cluster.GetCache(), children, opts.SyncTimeout, tell)
	if err != nil {
		return err
	}
	c.informers.refer(references)
	c.informers.failed = func(err error) {
		if isUnauthorized(err) {
			c.kick()
		}
	}
	c.client = &guardedClient{guard: c, Client: &checkedClient{Client: c.cluster.GetClient(), ready: c.informers.ready}}
	c.reader = &guardedReader{guard: c, next: c.cluster.GetAPIReader()}
	spaces, err := newSpaces(c.name, c.cfg, c.http, opts)
	if err != nil {
		return err
	}
	spaces.served, spaces.serves = c.mapper.current.Load, hooks.serves
	spaces.health.setOnError(func(_ kindKey, err error) { c.informers.failed(err) })
	c.inputs = newInputs(c, c.reader, spaces, tell)
	for _, health := range []*watchHealth{c.informers.health, spaces.health} {
		health.grown = c.grown
		health.bounds = &callBounds{intake: c.rt.intake, list: opts.SyncTimeout}
	}
	return nil
}

// excess answers what the cluster sent too much of for its caches to be kept, or nil.
func (c *connection) excess() *excess {
	if e := c.rt.intake.flood.Load(); e != nil {
		return e
	}
	return c.rt.intake.cached(c.weight())
}

// grown ends the connection as soon as its caches hold too much.
func (c *connection) grown() {
	if e := c.rt.intake.cached(c.weight()); e != nil {
		_ = c.rt.intake.refuse(e)
	}
}

// weight is the size of what is held of the cluster, in bytes.
func (c *connection) weight() int64 {
	return c.informers.health.weight() + c.inputs.spaces.health.weight() + c.mapper.current.Load().weight
}

func (c *connection) sighting() *sighting {
	return &sighting{version: c.version, capabilities: c.mapper.current.Load().capabilities(), rights: c.rights.Load()}
}

// broken tells whether the last call of any informer failed.
func (c *connection) broken() bool {
	return c.informers.health.broken() || c.inputs.spaces.health.broken()
}

// held counts, by kind, the objects that are held of the cluster.
func (c *connection) held() map[string]int {
	n := c.informers.health.held()
	for kind, more := range c.inputs.spaces.health.held() {
		n[kind] += more
	}
	return n
}

// discoverSoon asks for a discovery: somebody met a kind that the last one did not find.
func (c *connection) discoverSoon() {
	if !c.wantDiscovery.Swap(true) {
		c.kick()
	}
}

// discover asks the cluster what it serves. One that announces too much is not served.
func (c *connection) discover(ctx context.Context, old *served) (*served, error) {
	now, err := discover(ctx, c.cfg, c.http, c.timing.discovery(), old)
	if errors.Is(err, errAnnounced) {
		err = c.rt.intake.refuse(errAnnounced)
	}
	return now, err
}

// rediscover asks the cluster again what it serves. Informers of kinds that went are removed before it returns, those of
// kinds that came are started aside: the member must not miss a probe for them.
func (c *connection) rediscover() error {
	old := c.mapper.current.Load()
	now, err := c.discover(c.life, old)
	if err != nil {
		return err
	}
	c.mapper.current.Store(now)
	differs := c.informers.prune(c.life, now)
	if differs || old.capabilities() != now.capabilities() {
		c.changed()
	}
	c.inputs.spaces.retry()
	if c.syncing.Swap(true) {
		return nil
	}
	c.running.Go(func() {
		defer c.syncing.Store(false)
		differs, err := c.informers.sync(c.life, now)
		if err != nil && c.life.Err() == nil {
			c.log.Error(err, "Watching kinds that the cluster serves now failed")
		}
		if c.review(c.life, now) || differs {
			c.changed()
		}
	})
	return nil
}

// close waits up to grace for the calls that run, then ends everything, and returns when it has ended.
func (c *connection) close(grace time.Duration) {
	c.mu.Lock()
	if !c.closing {
		c.closing = true
		if c.inflight == 0 {
			close(c.idle)
		}
	}
	c.mu.Unlock()
	if grace > 0 {
		timer := time.NewTimer(grace)
		select {
		case <-c.idle:
		case <-timer.C:
		case <-c.life.Done():
		}
		timer.Stop()
	}
	c.endLife()
	c.running.Wait()
	if c.rt != nil {
		c.rt.close()
	}
}

func (c *connection) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

// enter refuses a call while the cluster is known to be silent: each such call would hold a worker until its deadline.
func (c *connection) enter(ctx context.Context) (context.Context, func(), error) {
	if l := c.lost.Load(); l != nil && l.silent {
		return nil, nil, c.unreachable(l, errDeadline)
	}
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		return nil, nil, c.replaced(errClosed)
	}
	c.inflight++
	c.mu.Unlock()
	leave := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.inflight--
		if c.closing && c.inflight == 0 {
			close(c.idle)
		}
	}
	ctx, answered, err := c.silence.enter(ctx)
	if err != nil {
		leave()
		return nil, nil, c.silent(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timing.CallTimeout, errDeadline)
	return ctx, func() {
		cancel()
		answered()
		leave()
	}, nil
}

func (c *connection) wrap(err error, namespace string) error {
	var tagged *transportError
	switch {
	case err == nil:
		return nil
	case isUnauthorized(err):
		c.kick()
		return unavailable(c.name, CauseUnauthorized, c.noteLoss(err, false), err)
	case absentNamespace(err, namespace):
		return namespaceAbsent(c.name, namespace, err)
	case !errors.As(err, &tagged):
		return err
	case errors.Is(err, errClosed):
		return c.replaced(err)
	case errors.Is(err, errSilent):
		return c.silent(err)
	case errors.Is(err, errAnotherCluster):
		c.kick()
		return connecting(c.name, CauseConnecting, errAnotherCluster.Error(), err)
	}
	l := c.noteLoss(err, errors.Is(err, errDeadline))
	c.kick()
	return c.unreachable(l, err)
}

func (c *connection) unreachable(l *loss, err error) error {
	return unavailable(c.name, CauseUnreachable, l, err)
}

// silent is quiet: nothing is known against the cluster yet, and its next change brings back whoever was turned away.
func (c *connection) silent(err error) error {
	return connecting(c.name, CauseStarting, "it has not answered for a while, and somebody waits for it already", err)
}

// replaced is quiet too when the operator stops: that the cluster were away would be the last thing it says.
func (c *connection) replaced(err error) error {
	if c.ending() {
		return connecting(c.name, CauseStarting, "the operator stops", err)
	}
	return connecting(c.name, CauseConnecting, "its connection was replaced", err)
}

var _ Target = (*connection)(nil)

// Name is part of Target.
func (c *connection) Name() string { return c.name }

// IsHub is part of Target.
func (c *connection) IsHub() bool { return false }

// UID is part of Target.
func (c *connection) UID() types.UID { return c.uid }

// Client is part of Target.
func (c *connection) Client() client.Client { return c.client }

// APIReader is part of Target.
func (c *connection) APIReader() client.Reader { return c.reader }

// Inputs is part of Target.
func (c *connection) Inputs() Inputs { return c.inputs }
func (c *connection) String() string { return clusterString(c.name) }

// Serves is part of Target.
func (c *connection) Serves(gvk schema.GroupVersionKind) (bool, error) {
	ok, err := c.mapper.current.Load().has(gvk)
	if err != nil {
		return false, fmt.Errorf("look up %s on %s: %w", gvk.Kind, c, err)
	}
	return ok, nil
}

// ServiceProxy is part of Target.
func (c *connection) ServiceProxy(ctx context.Context, req ServiceRequest) (ServiceResponse, error) {
	return serviceProxy(ctx, c, c.http, c.reg.Server, req)
}
