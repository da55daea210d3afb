// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errSilent is the cause of a call that was given up because another one is already waiting for the same silent cluster.
var errSilent = errors.New("the cluster has not answered for a while")

// silence lets one call at most wait for a cluster that has stopped to answer. How many workers wait for it would
// otherwise be up to chance: every one of them may have begun a call by the time the first reaches its deadline.
//
// While calls wait and nothing has come from the cluster for the length of after, the oldest call waits on and the
// others are given up; new ones are refused. Any answer, to a probe above all, ends that, and so does the end of the
// call that waits.
type silence struct {
	after time.Duration
	// begun is told that the cluster is silent, and over that calls are let
	// through again. Neither may call back.
	begun, over func()

	mu       sync.Mutex // guards the fields below; never held across a call
	answered time.Time
	waiting  map[*waitingCall]struct{}
	silent   bool
}

type waitingCall struct {
	began  time.Time
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func newSilence(after time.Duration, begun, over func()) *silence {
	return &silence{after: after, begun: begun, over: over, waiting: map[*waitingCall]struct{}{}}
}

// enter begins a call: it returns the call's context and what to run at its end, or errSilent.
func (s *silence) enter(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent {
		return nil, nil, errSilent
	}
	call := &waitingCall{began: time.Now()}
	ctx, call.cancel = context.WithCancelCause(ctx)
	call.timer = time.AfterFunc(s.after, func() { s.check(call) })
	s.waiting[call] = struct{}{}
	return ctx, func() { s.leave(call) }, nil
}

func (s *silence) leave(call *waitingCall) {
	call.timer.Stop()
	call.cancel(nil)
	s.mu.Lock()
	delete(s.waiting, call)
	over := s.silent && len(s.waiting) == 0
	if over {
		s.silent = false
	}
	s.mu.Unlock()
	if over {
		s.over()
	}
}

// heard notes that something came from the cluster.
func (s *silence) heard() {
	s.mu.Lock()
	s.answered = time.Now()
	over := s.silent
	s.silent = false
	s.mu.Unlock()
	if over {
		s.over()
	}
}

// now tells whether the cluster is silent and somebody waits for it.
func (s *silence) now() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// check is asked when a call has waited for long.
func (s *silence) check(call *waitingCall) {
	if s.falls(call) {
		s.begun()
	}
}

func (s *silence) falls(call *waitingCall) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waits := s.waiting[call]; !waits || s.silent {
		return false
	}
	oldest := call
	for other := range s.waiting {
		if other.began.Before(oldest.began) {
			oldest = other
		}
	}
	since := oldest.began
	if s.answered.After(since) {
		since = s.answered
	}
	if left := s.after - time.Since(since); left > 0 {
		call.timer.Reset(left)
		return false
	}
	s.silent = true
	for other := range s.waiting {
		if other != oldest {
			other.cancel(errSilent)
		}
	}
	return true
}
