// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff doubles from min to max. What it answers is meant as the time between the starts of two attempts: an attempt
// that itself waits for a silent cluster must not add to the pause, or a cluster that returns would wait for both.
type backoff struct{ min, max, cur time.Duration }

func newBackoff(least, most time.Duration) *backoff { return &backoff{min: least, max: most} }

func (b *backoff) reset() { b.cur = 0 }

// next never answers more than max; up to a tenth is taken off, so that clusters lost together do not return together.
func (b *backoff) next() time.Duration {
	switch {
	case b.cur == 0:
		b.cur = b.min
	case b.cur < b.max:
		b.cur *= 2
	}
	b.cur = min(b.cur, b.max)
	return b.cur - time.Duration(rand.Int64N(int64(b.cur)/10+1))
}

// wait returns when d is over or wake is sent to, and false when ctx ended first.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
		return true
	case <-timer.C:
		return true
	}
}

// poke wakes whoever waits for c; one pending wake-up is enough.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
