// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

var gvkCRD = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// hub is the Target of children that live beside their custom resources.
type hub struct {
	cluster   cluster.Cluster
	timing    Timing
	guard     hubGuard
	client    client.Client
	reader    client.Reader
	inputs    *inputs
	informers *informerSet
	server    *url.URL
	// apiServers is asked by network policies alone.
	apiServers apiServers
	uid        atomic.Pointer[types.UID]
	served     atomic.Pointer[served]
	// asked is closed when served is set for the first time.
	asked chan struct{}
	// ready is set when the first synchronisation of the informers has ended.
	ready atomic.Bool
	// miss wakes run for a discovery.
	miss chan struct{}
}

var _ Target = (*hub)(nil)

func newHub(cl cluster.Cluster, opts Options, emit func(Event)) (*hub, error) {
	h := &hub{cluster: cl, timing: opts.Timing, guard: hubGuard{opts.CallTimeout}, miss: make(chan struct{}, 1), asked: make(chan struct{})}
	direct, err := client.New(cl.GetConfig(), client.Options{
		HTTPClient: cl.GetHTTPClient(), Scheme: opts.Scheme, Mapper: cl.GetRESTMapper(),
		Cache: &client.CacheOptions{Reader: cl.GetCache(), Unstructured: true},
	})
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	h.server, _, err = rest.DefaultServerUrlFor(cl.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("address of the hub: %w", err)
	}
	h.informers, err = newInformerSet("", opts.Scheme, cl.GetCache(), opts.Children, opts.SyncTimeout, func(ev Event) {
		if ev.Object.GetObjectKind().GroupVersionKind() == gvkCRD {
			poke(h.miss)
			return
		}
		emit(ev)
	})
	if err != nil {
		return nil, err
	}
	h.informers.refer(opts.References)
	// What the hub serves is looked up again as soon as it changes, where its CRDs may be watched.
	h.informers.want(metadataOf(gvkCRD))
	h.client = &guardedClient{guard: h.guard, Client: &checkedClient{Client: direct, ready: h.informers.ready}}
	h.reader = &guardedReader{guard: h.guard, next: cl.GetAPIReader()}
	spaces, err := newSpaces("", cl.GetConfig(), cl.GetHTTPClient(), &opts)
	if err != nil {
		return nil, err
	}
	spaces.served = h.served.Load
	h.inputs = newInputs(h.guard, h.reader, spaces, emit)
	return h, nil
}

// run brings the hub's informers up, keeps them in step with what the hub serves, and calls changed whenever that
// differs. It needs the hub's cache to be started by somebody else, which the manager does.
func (h *hub) run(ctx context.Context, opts Options, changed func()) {
	if !h.cluster.GetCache().WaitForCacheSync(ctx) {
		return
	}
	var own sync.WaitGroup
	defer own.Wait()
	own.Go(func() { h.inputs.run(ctx) })
	log := opts.Logger.WithValues("cluster", "the hub")
	retry := newBackoff(opts.RetryMin, opts.RetryMax)
	for {
		started := time.Now()
		differs, err := h.refresh(ctx)
		if err != nil && ctx.Err() == nil {
			log.Error(err, "Looking up what the hub serves failed")
		}
		if err == nil {
			retry.reset()
			differs = !h.ready.Swap(true) || differs
		}
		if differs {
			changed()
		}
		h.inputs.spaces.retry()
		pause := time.Until(started.Add(retry.next()))
		if err == nil {
			pause = opts.ProbeInterval * time.Duration(opts.DiscoverEvery)
		}
		// A CRD is written several times until it is established; one look every now and then is enough.
		if !wait(ctx, min(pause, opts.RetryMin), nil) || !wait(ctx, pause, h.miss) {
			return
		}
	}
}

func (h *hub) refresh(ctx context.Context) (bool, error) {
	if h.uid.Load() == nil {
		if err := h.identify(ctx); err != nil {
			return false, err
		}
	}
	old := h.served.Load()
	httpClient := *h.cluster.GetHTTPClient()
	httpClient.Timeout = h.timing.CallTimeout
	now, err := discover(ctx, h.cluster.GetConfig(), &httpClient, h.timing.discovery(), old)
	if err != nil {
		return false, err
	}
	if h.served.Swap(now) == nil {
		close(h.asked)
	}
	differs, err := h.informers.sync(ctx, now)
	return differs || (old != nil && old.capabilities() != now.capabilities()), err
}

func (h *hub) identify(ctx context.Context) error {
	uid, err := identity(ctx, h.reader, h.server.String(), h.cluster.GetConfig().CAData)
	if err != nil {
		return err
	}
	h.uid.Store(&uid)
	return nil
}

// Name is part of Target.
func (h *hub) Name() string { return "" }

// IsHub is part of Target.
func (h *hub) IsHub() bool    { return true }
func (h *hub) String() string { return clusterString("") }

// Client is part of Target.
func (h *hub) Client() client.Client { return h.client }

// APIReader is part of Target.
func (h *hub) APIReader() client.Reader { return h.reader }

// Inputs is part of Target.
func (h *hub) Inputs() Inputs { return h.inputs }

// UID is empty until the hub was asked for it, which happens before it is resolved for the first time.
func (h *hub) UID() types.UID {
	if uid := h.uid.Load(); uid != nil {
		return *uid
	}
	return ""
}

// Serves is part of Target.
func (h *hub) Serves(gvk schema.GroupVersionKind) (bool, error) {
	ok, err := h.served.Load().has(gvk)
	if err != nil {
		return false, fmt.Errorf("look up %s on the hub: %w", gvk.Kind, err)
	}
	return ok, nil
}

// ServiceProxy is part of Target.
func (h *hub) ServiceProxy(ctx context.Context, req ServiceRequest) (ServiceResponse, error) {
	return serviceProxy(ctx, h.guard, h.cluster.GetHTTPClient(), h.server, req)
}

var errNoHub = errors.New("clusters: the registry has no hub; give Options.Hub or call SetHub")
