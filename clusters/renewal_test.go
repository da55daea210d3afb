// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestCachesThatBreakAgainAreRenewedLessAndLessOften(t *testing.T) {
	const probes = 30
	f := newFleet(t)
	var connections atomic.Int64
	s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/version" {
			connections.Add(1)
		}
		// The kind can be listed, and never watched.
		if r.URL.Query().Get("watch") == "" || !strings.HasSuffix(r.URL.Path, "/deployments") {
			return false
		}
		http.Error(w, "broken", http.StatusInternalServerError)
		return true
	})
	f.register("edge", s.kubeconfig(t))
	f.connected("edge")
	start, began := time.Now(), f.probes("edge")
	eventually(t, 30*time.Second, func(context.Context) error {
		if n := f.probes("edge") - began; n < probes {
			return fmt.Errorf("%v probes", n)
		}
		return nil
	})
	// The pauses are of 1, 2, 4, 8, 16 and then 30 intervals, less a tenth.
	most := int64(3)
	for i, left := 0, time.Since(start)*10/9; left > 0; i++ {
		left -= time.Duration(min(1<<i, 30)) * f.opts.ProbeInterval
		most++
	}
	if n := connections.Load(); n < 2 || n > most {
		t.Errorf("%d connections were made within %d probes, want some, and %d at most", n, probes, most)
	}
}

func TestACallThatGoesOnFailingWhileTheClusterIsWellBringsNobodyBackAllTheTime(t *testing.T) {
	// It is cut off at once, and nothing is to be taken for silence.
	f := newFleet(t, func(o *Options) {
		o.CallTimeout, o.ProbeTimeout, o.Patience = 20*time.Second, 20*time.Second, 20*time.Second
	})
	s := newStage(t, targetConfig, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/configmaps/cut") {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	f.register("edge", s.kubeconfig(t))
	target := f.connected("edge")
	f.settled(target)
	// Whoever is told tries again, as a reconciler does.
	const intervals = 20
	messages := map[string]int{}
	told, first, began := -1, f.changed("edge"), time.Now()
	eventually(t, time.Minute, func(ctx context.Context) error {
		if now := f.changed("edge"); now != told {
			told = now
			err := target.APIReader().Get(ctx, client.ObjectKey{Namespace: "default", Name: "cut"}, &corev1.ConfigMap{})
			messages[fmt.Sprint(err)]++
		}
		if time.Since(began) < intervals*f.opts.ProbeInterval || told < first+2 {
			return errNotYet
		}
		return nil
	})
	// After 0, 1/10, 2/10, 4/10 and 8/10 of an interval, and then once in each, less a tenth.
	most := 7 + int(time.Since(began)*10/9/f.opts.ProbeInterval)
	if n := told - first; n > most {
		t.Errorf("it was told %d times, want %d at most", n, most)
	}
	if len(messages) != 1 {
		t.Errorf("one trouble has %d messages: %v", len(messages), messages)
	}
}

func TestAClusterThatTakesAndRefusesACredentialByTurnsIsConnectedAfterThePause(t *testing.T) {
	const pause, connections = 2 * time.Second, 3
	f := newFleet(t, func(o *Options) { o.RetryMin, o.RetryMax, o.ProbeInterval = pause, pause, 5*time.Second })
	var asked atomic.Int64
	made := make(chan time.Time, 1000)
	s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/version":
			select {
			case made <- time.Now():
			default:
			}
		case r.URL.Path == "/readyz" && asked.Add(1)%2 == 0:
			http.Error(w, "who are you", http.StatusUnauthorized)
			return true
		}
		return false
	})
	f.register("edge", s.kubeconfig(t))
	var first, last time.Time
	for i := range connections + 1 {
		select {
		case last = <-made:
		case <-time.After(30 * time.Second):
			t.Fatal("it is not connected again")
		}
		if i == 0 {
			first = last
		}
	}
	// A tenth may be taken off each pause.
	if took, least := last.Sub(first), connections*pause*9/10; took < least {
		t.Errorf("%d connections came within %s, want %s at least", connections, took, least)
	}
}
