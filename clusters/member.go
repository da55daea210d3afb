// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// phase is where a member stands. Its values are the reasons of the condition Connected.
type phase string

const (
	phaseConnecting   phase = "Connecting"
	phaseConnected    phase = "Connected"
	phaseUnreachable  phase = "Unreachable"
	phaseUnauthorized phase = "Unauthorized"
	phaseSyncFailed   phase = "CacheSyncFailed"
)

// state is what a member knows of its cluster. It is never changed after it was published.
type state struct {
	phase phase
	// since is when the phase began.
	since time.Time
	// cause words what is wrong, in words that stay the same while it is, and remedy what is to be done about it where that
	// is not the usual.
	cause, remedy string
	// conn is set exactly while the phase is phaseConnected.
	conn *connection
	// seen is what was last found out about the cluster, or nil. It outlives the connection.
	seen *sighting
	// tried says that the first attempt to connect has ended, one way or the other.
	tried bool
}

// sighting is what a TargetCluster goes on showing of a cluster that is lost.
type sighting struct {
	version      string
	capabilities v1alpha1.TargetClusterCapabilities
	rights       *rights // nil if the cluster did not say
}

// seenNow is what is known of the cluster: what the connection knows, or what was known when it was lost.
func (st *state) seenNow() *sighting {
	if st.conn != nil {
		return st.conn.sighting()
	}
	return st.seen
}

// member is one registered cluster. Its goroutine alone changes its state; the registration is handed to it.
type member struct {
	name     string
	registry *Registry
	born     time.Time
	reg      atomic.Pointer[admitted]
	st       atomic.Pointer[state]
	wake     chan struct{} // the registration changed
	asked    chan struct{} // a connection asks for a probe
	stop     context.CancelFunc
	done     chan struct{}
	// before is closed when an earlier member of the same name has ended: its metrics and its connection are not to be
	// mixed up with ours.
	before <-chan struct{}

	mu      sync.Mutex // guards attempt; never held across a call
	attempt context.CancelFunc

	// retiring counts the connections that are being closed.
	retiring sync.WaitGroup

	// What follows belongs to the member's goroutine.
	retry     *backoff
	rebuild   *backoff
	rebuildAt time.Time
	mend      *backoff
	mendAt    time.Time
	made      time.Time // when the connection there is was made
	stale     bool
	failures  int
	probes    int
	lastProbe time.Time // when the last probe that counts began
	lastTry   time.Time // when any probe began
	connects  int
	why       string         // why the next connection is made
	held      map[string]int // objects in the caches, by kind
}

func newMember(r *Registry, name string, a *admitted, before <-chan struct{}) *member {
	m := &member{
		name: name, registry: r, born: time.Now(), done: make(chan struct{}), before: before,
		wake: make(chan struct{}, 1), asked: make(chan struct{}, 1),
		retry: newBackoff(r.opts.RetryMin, r.opts.RetryMax), rebuild: newBackoff(r.opts.ProbeInterval, 30*r.opts.ProbeInterval),
		mend: newBackoff(r.opts.ProbeInterval/10, r.opts.ProbeInterval),
	}
	m.reg.Store(a)
	m.st.Store(&state{phase: phaseConnecting, since: m.born})
	return m
}

// update hands the member another registration. An attempt to connect by the old one is not waited for.
func (m *member) update(a *admitted) {
	old := m.reg.Swap(a)
	if old.reg == nil || a.reg == nil || !old.reg.sameConnection(a.reg) || old.reg.Token != a.reg.Token {
		m.mu.Lock()
		if m.attempt != nil {
			m.attempt()
		}
		m.mu.Unlock()
	}
	poke(m.wake)
}

// run is the member's goroutine.
func (m *member) run(ctx context.Context) {
	defer close(m.done)
	if m.before != nil {
		<-m.before
	}
	grace := time.AfterFunc(m.registry.opts.ConnectGrace, func() {
		if !m.st.Load().tried {
			m.moved()
		}
	})
	defer grace.Stop()
	defer func() {
		m.retire(m.st.Load().conn, 0)
		m.retiring.Wait()
	}()
	for ctx.Err() == nil {
		a, st := m.reg.Load(), m.st.Load()
		switch {
		case a.refused != nil:
			if st.conn != nil || st.phase != phaseConnecting {
				m.counted(nil)
				m.publish(state{phase: phaseConnecting, tried: true})
				m.retire(st.conn, 0)
			}
			m.wait(ctx, time.Hour)
		case st.conn == nil, !st.conn.reg.sameConnection(a.reg), m.stale:
			m.connect(ctx, a.reg)
		default:
			m.watch(ctx, st.conn)
		}
	}
}

// servesNamespace tells whether the custom resources of a namespace may use the cluster, by the registration of the moment.
func (m *member) servesNamespace(namespace string) bool {
	reg, opts := m.reg.Load().reg, &m.registry.opts
	return reg != nil && reg.Covers(namespace) && reg.Allows(namespace, opts.RequireAllowedNamespaces) &&
		(opts.Namespace == "" || opts.Namespace == namespace)
}

// young tells whether the grace that a first attempt to connect gets is not over yet.
func (m *member) young() bool { return time.Since(m.born) < m.registry.opts.ConnectGrace }

// starting tells whether nothing is known of the cluster yet and it is too early to say so.
func (m *member) starting() bool {
	return m.reg.Load().refused == nil && !m.st.Load().tried && m.young()
}

// wait returns when d is over or the registration changed, and false when ctx ended first. Nothing else ends it: what a
// failed attempt asks for, by each socket that it opened, must not hurry the next one.
func (m *member) wait(ctx context.Context, d time.Duration) bool { return wait(ctx, d, m.wake) }

// connect makes one attempt, and waits before the next one if it failed. The connection there is serves on until the new
// one has taken its place.
func (m *member) connect(ctx context.Context, reg *Registration) {
	started := time.Now()
	old := m.st.Load().conn
	attempt, cancel := context.WithCancel(ctx)
	m.mu.Lock()
	m.attempt = cancel
	m.mu.Unlock()
	defer cancel()
	if now := m.reg.Load(); now.reg == nil || !now.reg.sameConnection(reg) {
		return // it changed before update could have seen the attempt
	}
	conn, err := connect(attempt, ctx, m.name, reg, &m.registry.opts, connectionHooks{
		emit:     m.registry.bus.object,
		kick:     func() { poke(m.asked) },
		changed:  m.moved,
		observed: func(verb, code string) { m.registry.metrics.request(m.name, verb, code) },
		serves:   m.servesNamespace,
		ending:   m.registry.ending,
	})
	switch {
	case err == nil:
		m.connected(conn, old)
	case attempt.Err() != nil:
		// The registration changed under the attempt, or everything ends.
	case old != nil && m.stale && old.reg.sameConnection(reg) && !isUnauthorized(err):
		// The cluster answers, and only its caches cannot be renewed: what there is serves on, until a probe fails too.
		m.renewed()
		m.registry.log(m.name).Error(err, "Renewing the caches failed")
	case errors.Is(err, errTooMuch):
		m.failed(err, old)
		m.pause(ctx)
	default:
		m.failed(err, old)
		m.wait(ctx, time.Until(started.Add(m.retry.next())))
	}
}

func (m *member) connected(conn, old *connection) {
	if m.connects > 0 {
		m.registry.metrics.reconnected(m.name, m.why)
	}
	m.connects++
	m.why = "Changed"
	m.made = time.Now()
	m.failures, m.probes = 0, 0
	m.renewed()
	m.lastProbe = time.Now()
	m.counted(conn.held())
	m.publish(state{phase: phaseConnected, conn: conn, tried: true})
	m.retire(old, m.registry.opts.CallTimeout)
}

// renewed ends an attempt to renew the caches, or any other that made new ones. Whether it helped shows with the next
// probes: a kind that cannot be watched is listed in vain each time, and all others with it.
func (m *member) renewed() {
	if m.rebuildAt = (time.Time{}); m.stale {
		m.rebuildAt = time.Now().Add(m.rebuild.next())
	} else {
		m.rebuild.reset()
	}
	m.stale = false
}

func (m *member) failed(err error, old *connection) {
	next := state{phase: phaseUnreachable, cause: describe(err), tried: true}
	var tooMuch *excess
	switch {
	case isUnauthorized(err):
		next.phase = phaseUnauthorized
	case errors.As(err, &tooMuch):
		next.phase, next.remedy = phaseSyncFailed, tooMuch.remedy()
	case errors.Is(err, errSync):
		next.phase = phaseSyncFailed
	}
	m.registry.log(m.name).V(1).Info("Connecting failed", "reason", next.phase, "error", err.Error())
	m.lose(next, old)
}

// lose publishes that the cluster does not serve and ends its connection. Its caches go with it: they would be stale when
// it returns, and nothing would hurry their watches to resume.
func (m *member) lose(next state, conn *connection) {
	m.counted(nil)
	m.why, m.stale = string(next.phase), false
	m.publish(next)
	m.retire(conn, 0)
}

// retire ends a connection aside, for it may wait for calls that run.
func (m *member) retire(conn *connection, grace time.Duration) {
	if conn != nil {
		m.retiring.Go(func() { conn.close(grace) })
	}
}

// watch waits for the next probe, or for something to be done sooner, and does it.
func (m *member) watch(ctx context.Context, conn *connection) {
	t := m.registry.opts.Timing
	due := m.lastProbe.Add(t.ProbeInterval)
	next := time.NewTimer(time.Until(due))
	defer next.Stop()
	select {
	case <-ctx.Done():
		return
	case <-m.wake:
	case <-m.asked:
	case <-next.C:
	}
	a := m.reg.Load()
	if a.refused != nil || !conn.reg.sameConnection(a.reg) {
		return
	}
	if token := a.reg.Token; token != *conn.rt.token.Load() {
		conn.rt.token.Store(&token)
		// It may be another account's: the probe that follows asks what that may do.
		conn.wantDiscovery.Store(true)
	}
	scheduled := !time.Now().Before(due)
	if soonest := m.lastTry.Add(t.ProbeInterval / 10); !scheduled && time.Now().Before(soonest) {
		// Calls that fail ask for a probe each; the cluster is not to be hammered for it.
		timer := time.NewTimer(time.Until(soonest))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
	m.probe(ctx, conn, scheduled)
}

// probe asks the cluster whether it serves. Only scheduled probes count as failures: how soon a cluster is given up must
// not depend on how many calls fail meanwhile.
func (m *member) probe(ctx context.Context, conn *connection, scheduled bool) {
	began := time.Now()
	m.lastTry = began
	var err error
	if !conn.rt.stranger() {
		err = conn.probe(ctx)
	}
	if err == nil {
		err = conn.sameCluster(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	if scheduled || err == nil {
		m.lastProbe = began
	}
	m.registry.metrics.probed(m.name, time.Since(began))
	tooMuch := conn.excess()
	switch {
	case tooMuch != nil:
		m.failed(tooMuch, conn)
		m.pause(ctx)
	case err == nil:
		m.failures = 0
		m.serves(conn)
	case errors.Is(err, errAnotherCluster):
		// Nothing cached of the one answers for the other, and nothing more is written there in the one's name.
		m.registry.log(m.name).Info("Another cluster answers behind the registration, which is connected anew", "server", conn.reg.Host(), "was", conn.uid)
		m.lose(state{phase: phaseConnecting, tried: true}, conn)
		m.why = "AnotherCluster"
		m.calm(ctx)
	case isUnauthorized(err):
		m.lose(state{phase: phaseUnauthorized, cause: describe(err), tried: true}, conn)
		m.calm(ctx)
	case scheduled:
		m.failures++
		l := conn.noteLoss(err, errors.Is(err, errDeadline))
		if m.failures >= m.registry.opts.ProbeFailures {
			// Custom resources show since when calls fail: giving the connection up is not another time.
			m.lose(state{phase: phaseUnreachable, since: l.since, cause: describe(err), tried: true}, conn)
		}
	}
}

// calm comes before a lost connection is made anew. That happens at once, unless it had served for less than the time
// between two probes: several API servers behind one address may differ in what they say, and each connection costs as
// much as the first.
func (m *member) calm(ctx context.Context) {
	if time.Since(m.made) < m.registry.opts.ProbeInterval {
		m.wait(ctx, m.retry.next())
	}
}

// counted keeps how many objects of the cluster are held.
func (m *member) counted(held map[string]int) {
	m.registry.metrics.setCached(m.name, held, m.held)
	m.held = held
}

// pause comes between two attempts to connect to a cluster that sends too much: each takes in as much again. It ends when
// the registration changes.
func (m *member) pause(ctx context.Context) {
	a, until := m.reg.Load(), time.Now().Add(m.registry.opts.RetryMax)
	for m.reg.Load() == a && time.Now().Before(until) {
		if !m.wait(ctx, time.Until(until)) {
			return
		}
	}
}

// serves does what a good probe is the occasion for.
func (m *member) serves(conn *connection) {
	// Calls may fail although the cluster serves: whoever tries again each time it is found well would do so all the time.
	if now := time.Now(); now.After(m.mendAt) {
		if conn.found() {
			m.mendAt = now.Add(m.mend.next())
			m.moved()
		} else {
			m.mend.reset()
		}
	}
	m.probes++
	m.counted(conn.held())
	if time.Since(m.made) >= m.registry.opts.ProbeInterval {
		m.retry.reset()
	}
	// Caches are not called well before they have had time to break again.
	settled := time.Now().After(m.rebuildAt)
	renew := settled && conn.broken()
	if conn.wantDiscovery.Swap(false) || renew || m.probes%m.registry.opts.DiscoverEvery == 0 {
		if err := conn.rediscover(); err != nil {
			m.registry.log(m.name).Error(err, "Looking up what the cluster serves failed")
		}
	}
	// A watch that cannot resume although the cluster answers waits in its reflector's back-off, for half a minute if it
	// comes to that. New caches are there at once.
	if renew && conn.broken() {
		m.stale, m.why = true, "CachesStale"
	} else if settled && !renew {
		m.rebuild.reset()
	}
	m.registry.mirror.enqueue(m.name)
}

// lostFor tells whether since is when the cluster was lost.
func (st *state) lostFor() bool { return st.conn == nil && st.phase != phaseConnecting }

// publish makes the next state visible and tells everybody whom it concerns.
func (m *member) publish(next state) {
	old := m.st.Load()
	switch {
	case old.tried && old.lostFor() && next.lostFor():
		next.since = old.since // one outage, whatever it is found to be
	case next.since.IsZero():
		next.since = time.Now()
	}
	if next.seen = old.seen; next.conn != nil {
		next.seen = next.conn.sighting()
	}
	m.st.Store(&next)
	m.registry.announce(m, old, &next)
}

// moved tells that Resolve, or the Target it answers, may say something else than before.
func (m *member) moved() {
	m.registry.bus.changedCluster(m.name)
	m.registry.mirror.enqueue(m.name)
}
