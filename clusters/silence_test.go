// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestOneCallAloneWaitsForASilentCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, over := 0, 0
		s := newSilence(2*time.Second, func() { begun++ }, func() { over++ })
		enter := func() (context.Context, func()) {
			ctx, leave, err := s.enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return ctx, leave
		}
		first, leaveFirst := enter()
		time.Sleep(time.Second)
		second, leaveSecond := enter()
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()

		if first.Err() != nil {
			t.Errorf("the oldest call was given up: %v", context.Cause(first))
		}
		if !errors.Is(context.Cause(second), errSilent) {
			t.Errorf("the second call waits on: %v", context.Cause(second))
		}
		leaveSecond()
		if _, _, err := s.enter(t.Context()); !errors.Is(err, errSilent) {
			t.Errorf("a third call is let in: %v", err)
		}
		if !s.now() || begun != 1 || over != 0 {
			t.Errorf("silent is %t, begun %d times, over %d times", s.now(), begun, over)
		}

		leaveFirst()
		if s.now() || over != 1 {
			t.Errorf("the wait has ended: silent is %t, over %d times", s.now(), over)
		}
		_, leave := enter()
		leave()
	})
}

func TestAnAnswerEndsTheSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := 0
		s := newSilence(2*time.Second, func() {}, func() { over++ })
		_, leave, err := s.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if !s.now() {
			t.Fatal("the cluster is not taken for silent")
		}
		s.heard()
		if s.now() || over != 1 {
			t.Fatalf("silent is %t, over %d times", s.now(), over)
		}
		_, leaveNext, err := s.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leaveNext()
	})
}

func TestSlowCallsOfAClusterThatAnswersAreLetBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSilence(2*time.Second, func() { t.Error("the cluster is taken for silent") }, func() {})
		for range 3 {
			ctx, leave, err := s.enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer leave()
			defer func() {
				if ctx.Err() != nil {
					t.Errorf("a slow call was given up: %v", context.Cause(ctx))
				}
			}()
		}
		for range 10 {
			time.Sleep(time.Second)
			s.heard()
		}
		synctest.Wait()
	})
}
