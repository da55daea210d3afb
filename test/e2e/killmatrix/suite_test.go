// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package killmatrix kills the operator, or the target's API server, at a write
// of the install, the attach of a satellite, a change and the deletion, and
// compares what comes of it with a life without kills.
//
// Each life takes one kill per phase. A sample of the writes is tried unless
// CINDER_SOAK is set, which tries every one, both before the write reaches the
// API server and after its answer was lost. CINDER_SEED repeats a sample.
package killmatrix

import (
	"math/rand/v2"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

func TestMain(m *testing.M) { os.Exit(harness.Main(m, harness.Options{Targets: 1}, &lab)) }

// quick makes an outage show within seconds.
var quick = harness.QuickProbes()

// point is a kill: at which write of its phase, and on which side of it.
type point struct {
	n      int
	before bool
}

// sample is how many writes of each phase are tried unless all are.
const sample = 1

// points are the kills to try in each phase, by how many writes the phases took:
// every one of them in a soak, else some. Phases with fewer points than the
// longest one repeat theirs.
func points(t *testing.T, writes map[string]int) map[string][]point {
	t.Helper()
	rnd := rand.New(rand.NewPCG(harness.Seed(t), 0))
	out := map[string][]point{}
	longest := 0
	for _, ph := range phases {
		if writes[ph.name] == 0 {
			t.Fatalf("no write of the phase %s was seen: nothing could be killed at one", ph.name)
		}
		var all []point
		for n := 1; n <= writes[ph.name]; n++ {
			all = append(all, point{n, true}, point{n, false})
		}
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if !harness.Soak() && len(all) > sample {
			all = all[:sample]
		}
		out[ph.name] = all
		longest = max(longest, len(all))
	}
	for name, some := range out {
		for i := 0; len(some) > 0 && len(some) < longest; i++ {
			some = append(some, some[i])
		}
		out[name] = some
	}
	return out
}

func metaOf(registration string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: registration, Namespace: harness.ClustersNamespace}
}
