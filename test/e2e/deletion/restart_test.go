// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"testing"
	"time"
)

// A process that starts knows nothing of how long a registration has been
// missing: what it sees may be the first moment of it.
func TestARestartInsideTheWindowStartsItOver(t *testing.T) {
	const longer = 12 * time.Second
	args := append([]string{"--abandon-after=" + longer.String()}, quick...)
	op := lab.StartOperator(t, args...)
	s := deploy(t, "restart", lab.Targets["edge-1"])
	s.deregister()
	s.away("is not registered")
	s.delete()
	deleted := time.Now()
	s.held("is not registered", 2*time.Second)
	op.Kill()
	restarted := time.Now()
	op = lab.StartOperator(t, args...)
	// Past the first window, and before the second one has run out.
	s.held("is not registered", time.Until(deleted.Add(longer+time.Second)))
	s.givenUp(op, time.Minute)
	if took := time.Since(restarted); took < longer {
		t.Errorf("given up %s after the restart, before the window had run out", took)
	}
	// The operator that would let go of them ends before the test's own cleanup.
	for _, obj := range s.satellites {
		lab.Remove(t, obj)
		lab.Hub.WaitGone(t, time.Second, obj)
	}
}
