// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAQuestionIsAskedAnewWhenSomethingChanged(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	changed := make(chan struct{}, 1)
	asked := 0
	err := until(ctx, time.Hour, changed, func(context.Context) error {
		if asked++; asked == 3 {
			return nil
		}
		changed <- struct{}{}
		return errors.New("not yet")
	})
	if err != nil || asked != 3 {
		t.Errorf("after %d questions the answer is %v", asked, err)
	}
}

func TestTheLastAnswerIsTheOneThatTheDeadlineDidNotCutShort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	telling := errors.New("two replicas")
	first := true
	err := until(ctx, time.Millisecond, nil, func(context.Context) error {
		if first {
			first = false
			return telling
		}
		cancel()
		return context.DeadlineExceeded
	})
	if !errors.Is(err, telling) {
		t.Errorf("the answer is %v, want %v", err, telling)
	}
}
