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

	"k8s.io/apimachinery/pkg/api/meta"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestAClusterWhoseKindsCannotBeReadIsToldOfInTheSameWordsEachTime(t *testing.T) {
	f := newFleet(t, func(o *Options) {
		o.SyncTimeout, o.RetryMin, o.RetryMax = 500*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond
	})
	var attempts atomic.Int64
	s := newStage(t, targetConfig, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/version" {
			attempts.Add(1)
		}
		// Every list and watch of children is refused; discovery and the identity are answered.
		if !strings.Contains(r.URL.RawQuery, "labelSelector=") {
			return false
		}
		http.Error(w, "broken", http.StatusInternalServerError)
		return true
	})
	f.register("edge", s.kubeconfig(t))
	tc := f.shows("edge", v1alpha1.ConditionConnected, string(phaseSyncFailed))
	message := meta.FindStatusCondition(tc.Status.Conditions, v1alpha1.ConditionConnected).Message
	if want := " cannot be listed and watched: answered 500 InternalError"; !strings.HasSuffix(message, want) {
		t.Errorf("the condition says %q, want a kind and %q", message, want)
	}
	eventually(t, 30*time.Second, func(context.Context) error {
		if n := attempts.Load(); n < 8 {
			return fmt.Errorf("%d attempts", n)
		}
		return nil
	})
	if told := f.recorded("ClusterUnreachable"); len(told) != 1 {
		t.Errorf("one outage is told %d times: %q", len(told), told)
	}
}
