// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package killmatrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// stage is an operator behind proxies, serving one registered target.
type stage struct {
	hub, edge  *harness.Proxy
	kubeconfig string
	op         *harness.Operator
	untouched  func(*testing.T)
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{hub: lab.Hub.Proxy(t), edge: lab.Targets["edge-1"].Proxy(t), kubeconfig: lab.Path("hub.proxy.kubeconfig")}
	if err := os.WriteFile(s.kubeconfig, s.hub.Kubeconfig(t), 0o600); err != nil {
		t.Fatal(err)
	}
	lab.Namespace(t, namespace, lab.Targets["edge-1"])
	s.untouched = bystanders(t)
	lab.Register(t, "edge-1", lab.Targets["edge-1"], func(r *corev1.Secret) {
		r.Data[v1alpha1.RegistrationKeyKubeconfig] = s.edge.Kubeconfig(t)
	})
	s.start(t)
	lab.WaitReady(t, harness.ReadyTimeout, &v1alpha1.TargetCluster{ObjectMeta: metaOf("edge-1")})
	return s
}

func (s *stage) start(t *testing.T) {
	t.Helper()
	s.op = lab.StartOperator(t, append([]string{"--kubeconfig", s.kubeconfig}, quick...)...)
}

// reference is a life without kills, which all others are compared with.
type reference struct {
	pictures map[string]map[string]string
	// hub and edge count the writes of each phase, by the cluster they went to.
	hub, edge map[string]int
	trace     harness.Trace
}

// once is the reference of all tests of the package; nil until the first has lived it.
var once *reference

// reference lives once without kills, unless an earlier test did.
func (s *stage) reference(t *testing.T) *reference {
	t.Helper()
	if once != nil {
		return once
	}
	ref := &reference{pictures: map[string]map[string]string{}, hub: map[string]int{}, edge: map[string]int{}}
	l, since := newLife(), mark(t)
	for _, ph := range phases {
		hub, edge := &harness.Trigger{}, &harness.Trigger{}
		s.hub.Set(hub)
		s.edge.Set(edge)
		ph.do(t, l)
		ref.pictures[ph.name] = l.settle(t, ph, nil)
		ref.hub[ph.name], ref.edge[ph.name] = len(hub.Seen()), len(edge.Seen())
	}
	s.hub.Set(nil)
	s.edge.Set(nil)
	s.untouched(t)
	ref.trace = l.trace(t, since)
	if !t.Failed() {
		once = ref
	}
	return ref
}

// killer ends something, and brings it back.
type killer struct {
	kill   func() error
	revive func()
	// set puts a trigger in force where the writes are to be counted.
	set func(*harness.Trigger)
	// counted are the clusters whose writes those are.
	counted func(*reference) []map[string]int
}

func (s *stage) matrix(t *testing.T, k killer) {
	t.Helper()
	ref := s.reference(t)
	writes := map[string]int{}
	for _, counted := range k.counted(ref) {
		for name, n := range counted {
			writes[name] += n
		}
	}
	t.Logf("writes by phase: %v", writes)
	tries := points(t, writes)
	met := map[string]int{} // kills, by phase
	var missed []string
	for i := range tries["install"] {
		l, since := newLife(), mark(t)
		for _, ph := range phases {
			at := tries[ph.name][i]
			killed := make(chan error, 1)
			trigger := &harness.Trigger{N: at.n, Before: at.before, Do: func() { killed <- k.kill() }}
			k.set(trigger)
			began := time.Now()
			ph.do(t, l)
			s.await(t, l, ph, trigger)
			k.set(nil)
			if trigger.Fired() != "" {
				if err := <-killed; err != nil {
					t.Fatal(err)
				}
				k.revive()
				met[ph.name]++
			} else {
				missed = append(missed, fmt.Sprintf("%s, write %d", ph.name, at.n))
			}
			l.settle(t, ph, ref.pictures[ph.name])
			t.Logf("life %d, %s: kill at write %d (before it: %t) %q; over after %s", i+1, ph.name, at.n, at.before, trigger.Fired(), time.Since(began).Round(time.Millisecond))
		}
		s.untouched(t)
		l.trace(t, since).Check(t, ref.trace)
		if t.Failed() {
			return // what this life left would be counted against the next
		}
	}
	if len(missed) > 0 {
		t.Logf("lives that ended before the write they were to be killed at: %q", missed)
	}
	// A sample may miss a phase, when its life writes once less than the reference did.
	if len(met) == 0 {
		t.Error("no life was met by a kill")
	}
	for _, ph := range phases {
		if harness.Soak() && met[ph.name] == 0 {
			t.Errorf("no life was met by a kill in its phase %s", ph.name)
		}
	}
}

// await waits until the trigger fires, or the phase has been over for a while
// without as many writes as the kill waits for: their number differs a little
// from life to life.
func (s *stage) await(t *testing.T, l *life, ph phase, trigger *harness.Trigger) {
	t.Helper()
	var over time.Time
	done := harness.Seldom(func(ctx context.Context) error { return ph.done(ctx, l) })
	harness.Eventually(t, settleTimeout, ph.name+" ends, or is met by a kill", func(ctx context.Context) error {
		if trigger.Fired() != "" {
			return nil
		}
		if err := done(ctx); err != nil {
			over = time.Time{}
			return err
		}
		if over.IsZero() {
			over = time.Now()
		}
		if time.Since(over) < quiet {
			return errors.New("it may still write")
		}
		return nil
	})
}

func TestAnOperatorThatIsKilledAtAnyWriteComesToTheSameEnd(t *testing.T) {
	s := newStage(t)
	s.matrix(t, killer{
		kill: func() error {
			s.op.Kill()
			return nil
		},
		revive: func() { s.start(t) },
		set: func(trigger *harness.Trigger) {
			s.hub.Set(trigger)
			s.edge.Set(trigger)
		},
		counted: func(r *reference) []map[string]int { return []map[string]int{r.hub, r.edge} },
	})
}

func TestATargetThatIsKilledAtAnyWriteComesToTheSameEnd(t *testing.T) {
	s := newStage(t)
	s.matrix(t, killer{
		kill:    func() error { return lab.Command("kill", "edge-1") },
		revive:  func() { lab.Run(t, "start", "edge-1") },
		set:     s.edge.Set,
		counted: func(r *reference) []map[string]int { return []map[string]int{r.edge} },
	})
}
