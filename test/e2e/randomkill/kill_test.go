// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package randomkill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// size is how many operators run side by side, in lanes of their own, and how many
// lives of theirs are killed altogether.
func size() (lanes, lives int) {
	if harness.Soak() {
		return 5, 50
	}
	return 2, 2
}

const (
	target = "edge-1"
	// stageTimeout is what a stage may take with a restart in the middle, on a
	// machine that other suites share.
	stageTimeout = 3 * time.Minute
	// quiet is how long nothing may change for a stage to be over.
	quiet = 2 * time.Second
)

// lane is an operator that serves one namespace, behind proxies of its own.
type lane struct {
	namespace, target string
	children          *harness.Cluster
	args              []string
	proxies           []*harness.Proxy
	op                *harness.Operator
	// before names what lies in the namespace beside the lives.
	before map[*harness.Cluster][]string

	pictures map[string]map[string]string
	writes   map[string]int
	want     harness.Trace
}

func newLane(t *testing.T, number int) *lane {
	t.Helper()
	l := &lane{namespace: fmt.Sprintf("lane-%d", number), children: lab.Hub, before: map[*harness.Cluster][]string{}}
	clustersNamespace := ""
	if number%2 == 1 {
		// Each registers the target where no other operator looks.
		l.target, l.children, clustersNamespace = target, lab.Targets[target], l.namespace+"-clusters"
		lab.Namespace(t, clustersNamespace)
	}
	lab.Namespace(t, l.namespace, l.children)
	lab.Run(t, "job-end", l.children.Name, "--namespace", l.namespace, "--job", "cinder-db-migrate", "--message", "cinder-status upgrade check exit 0")

	hub := lab.Hub.Proxy(t)
	l.proxies = append(l.proxies, hub)
	kubeconfig := lab.Path(l.namespace + ".kubeconfig")
	if err := os.WriteFile(kubeconfig, hub.Kubeconfig(t), 0o600); err != nil {
		t.Fatal(err)
	}
	l.args = append([]string{"--kubeconfig", kubeconfig, "--namespace", l.namespace, "--clusters-namespace", clustersNamespace}, harness.QuickProbes()...)
	if l.target != "" {
		edge := l.children.Proxy(t)
		l.proxies = append(l.proxies, edge)
		lab.Register(t, l.target, l.children, func(r *corev1.Secret) {
			r.Namespace = clustersNamespace
			r.Data[v1alpha1.RegistrationKeyKubeconfig] = edge.Kubeconfig(t)
		})
	}
	l.op = lab.StartOperator(t, l.args...)
	if l.target != "" {
		lab.WaitReady(t, harness.ReadyTimeout, &v1alpha1.TargetCluster{ObjectMeta: metav1.ObjectMeta{Name: l.target, Namespace: clustersNamespace}})
	}
	harness.Eventually(t, stageTimeout, "the namespace has its ConfigMap of the cluster's CA", func(ctx context.Context) error {
		for _, c := range l.clusters() {
			have, err := c.Objects(ctx, l.namespace)
			if err != nil {
				return err
			}
			if !slices.Contains(have, "ConfigMap/kube-root-ca.crt") {
				return fmt.Errorf("%s has %v", c.Name, have)
			}
			l.before[c] = have
		}
		return nil
	})
	return l
}

// clusters are those that the operator of the lane writes to.
func (l *lane) clusters() []*harness.Cluster {
	if l.children == lab.Hub {
		return []*harness.Cluster{lab.Hub}
	}
	return []*harness.Cluster{lab.Hub, l.children}
}

func (l *lane) mark(t *testing.T) []harness.Mark {
	t.Helper()
	var marks []harness.Mark
	for _, c := range l.clusters() {
		marks = append(marks, c.Mark(t))
	}
	return marks
}

func (l *lane) set(trigger *harness.Trigger) {
	for _, p := range l.proxies {
		p.Set(trigger)
	}
}

// reference lives once without kills.
func (l *lane) reference(t *testing.T) {
	t.Helper()
	l.pictures, l.writes = map[string]map[string]string{}, map[string]int{}
	li, since := newLife(l.namespace, l.target), l.mark(t)
	for _, st := range stages {
		counter := &harness.Trigger{}
		l.set(counter)
		st.do(t, li)
		l.pictures[st.name] = l.settle(t, li, st, nil)
		l.writes[st.name] = len(counter.Seen())
	}
	l.set(nil)
	l.nothingLeft(t)
	l.want = lab.TraceOf(t, l.namespace, since, append(li.satellites(), li.cinder)...)
	if jobs := l.podsListed(t, since); len(jobs) != 1 {
		t.Errorf("pods were listed for the Jobs %v, want once for the one upgrade", jobs)
	}
	t.Logf("writes by stage: %v", l.writes)
}

// killed lives once with a kill in each stage.
func (l *lane) killed(t *testing.T, number int, rnd *rand.Rand) {
	t.Helper()
	began := time.Now()
	var kills []string
	li, since := newLife(l.namespace, l.target), l.mark(t)
	for _, st := range stages {
		dead := make(chan struct{})
		trigger := &harness.Trigger{N: 1 + rnd.IntN(l.writes[st.name]), Before: rnd.IntN(2) == 0, Do: func() {
			l.op.Kill()
			close(dead)
		}}
		l.set(trigger)
		st.do(t, li)
		l.await(t, li, st, trigger)
		l.set(nil)
		if fired := trigger.Fired(); fired != "" {
			<-dead
			kills = append(kills, fmt.Sprintf("%s at write %d (before it: %t) %s", st.name, trigger.N, trigger.Before, fired))
			l.op = lab.StartOperator(t, l.args...)
		}
		l.settle(t, li, st, l.pictures[st.name])
	}
	l.nothingLeft(t)
	lab.TraceOf(t, l.namespace, since, append(li.satellites(), li.cinder)...).Check(t, l.want)
	if jobs := l.podsListed(t, since); len(jobs) > 1 {
		t.Errorf("pods were listed for the Jobs %v, want once for the one upgrade", jobs)
	}
	t.Logf("life %d took %s; kills: %q", number, time.Since(began).Round(time.Millisecond), kills)
}

// podsListed are the Jobs whose pods were listed where the children are; elsewhere
// nothing asks for pods.
func (l *lane) podsListed(t *testing.T, since []harness.Mark) []types.UID {
	t.Helper()
	var jobs []types.UID
	for i, c := range l.clusters() {
		listed := since[i].PodsListed(t, l.namespace)
		if c == l.children {
			jobs = listed
		} else if len(listed) > 0 {
			t.Errorf("pods were listed on %s for the Jobs %v", c.Name, listed)
		}
	}
	return jobs
}

// await waits until the trigger fires, or the stage has been over for a while
// without as many writes as the kill waits for: their number differs a little
// from life to life.
func (l *lane) await(t *testing.T, li *life, st stage, trigger *harness.Trigger) {
	t.Helper()
	var over time.Time
	done := harness.Seldom(func(ctx context.Context) error { return st.done(ctx, li) })
	harness.Eventually(t, stageTimeout, st.name+" ends, or is met by a kill", func(ctx context.Context) error {
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

// settle waits until the stage is done and comes to want, or, without want, until
// nothing changes any more; it returns what it came to.
func (l *lane) settle(t *testing.T, li *life, st stage, want map[string]string) map[string]string {
	t.Helper()
	var last map[string]string
	since := time.Now()
	harness.Eventually(t, stageTimeout, st.name+" comes to its end", harness.Seldom(func(ctx context.Context) error {
		if err := st.done(ctx, li); err != nil {
			return err
		}
		now, err := lab.Picture(ctx, l.children, li.cinder, li.satellites()...)
		if err != nil {
			return err
		}
		if want != nil {
			return harness.Differ(now, want)
		}
		if st.name == "delete" && len(now) > 0 {
			return fmt.Errorf("there is %v", now)
		}
		if err := harness.Differ(now, last); last == nil || err != nil {
			last, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return errors.New("still changing")
		}
		return nil
	}))
	return last
}

// nothingLeft waits until the namespace holds what it held before the first life.
func (l *lane) nothingLeft(t *testing.T) {
	t.Helper()
	harness.Eventually(t, stageTimeout, "nothing is left of a life", harness.Seldom(func(ctx context.Context) error {
		for _, c := range l.clusters() {
			have, err := c.Objects(ctx, l.namespace)
			if err != nil {
				return err
			}
			if !slices.Equal(have, l.before[c]) {
				return fmt.Errorf("%s has %v, want %v", c.Name, have, l.before[c])
			}
		}
		return nil
	}))
}

func TestOperatorsThatAreKilledAtRandomWritesComeToTheSameEnd(t *testing.T) {
	seed := harness.Seed(t)
	lanes, lives := size()
	began := time.Now()
	t.Cleanup(func() { t.Logf("%d lives in %d lanes took %s", lives, lanes, time.Since(began).Round(time.Second)) })
	for number := range lanes {
		t.Run(fmt.Sprintf("lane %d", number), func(t *testing.T) {
			t.Parallel()
			l := newLane(t, number)
			l.reference(t)
			// A life's kills depend on its own number only.
			for i := number; i < lives && !t.Failed(); i += lanes {
				l.killed(t, i, rand.New(rand.NewPCG(seed, uint64(i))))
			}
		})
	}
}
