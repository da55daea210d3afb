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

func TestAProbeAsksForTheVersionWhereReadinessIsNotForEverybody(t *testing.T) {
	for _, tt := range []struct {
		readyz, version int
		lost            string
	}{
		{http.StatusForbidden, http.StatusOK, ""},
		{http.StatusNotFound, http.StatusOK, ""},
		{http.StatusForbidden, http.StatusInternalServerError, "answered 500 to /version"},
		// The server says that it is not ready: that it has a version is no answer to that.
		{http.StatusInternalServerError, http.StatusOK, "answered 500 to /readyz"},
	} {
		t.Run(fmt.Sprintf("readyz %d, version %d", tt.readyz, tt.version), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			answer := func(w http.ResponseWriter, r *http.Request) bool {
				code := map[string]int{"/readyz": tt.readyz, "/version": tt.version}[r.URL.Path]
				if r.URL.Path == "/version" {
					asked.Add(1)
				}
				if code == 0 || code == http.StatusOK {
					return false
				}
				http.Error(w, "no", code)
				return true
			}
			s := newStage(t, targetConfig, func(http.ResponseWriter, *http.Request) bool { return false })
			f := newFleet(t, func(o *Options) { o.ProbeTimeout, o.CallTimeout = 5*time.Second, 5*time.Second })
			f.register("edge", s.kubeconfig(t))
			f.connected("edge")
			s.act.Store(&answer)
			before := asked.Load()
			if tt.lost == "" {
				eventually(t, 20*time.Second, func(context.Context) error {
					if asked.Load() < before+int32(2*f.opts.ProbeFailures) {
						return errNotYet
					}
					return nil
				})
				f.connected("edge")
				if lost := f.recorded("ClusterUnreachable"); len(lost) != 0 {
					t.Errorf("events: %v", lost)
				}
				return
			}
			tc := f.shows("edge", v1alpha1.ConditionConnected, v1alpha1.ReasonUnreachable)
			if c := meta.FindStatusCondition(tc.Status.Conditions, v1alpha1.ConditionConnected); !strings.Contains(c.Message, tt.lost) {
				t.Errorf("message %q", c.Message)
			}
			leave := func(http.ResponseWriter, *http.Request) bool { return false }
			s.act.Store(&leave)
			f.connected("edge")
		})
	}
}
