// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// errTooMuch is the error of an answer or a watch that was cut because the cluster sends more than is taken of it.
var errTooMuch = errors.New("the cluster sends more than is taken of it")

const (
	// answerIntake bounds the answers of one connection that are being read at the same time: a client reads an answer to
	// its end before it looks at it.
	answerIntake = 64 << 20
	// watchIntake and watchRate bound what the watches of one connection bring: so much at once, and so much per second
	// in the long run.
	watchIntake = 128 << 20
	watchRate   = 1 << 20
)

// intake bounds what a cluster can make the operator hold in memory.
type intake struct {
	answers    atomic.Int64
	maxAnswers int64
	// flooded is set once the watches brought too much: their caches are not to be kept.
	flooded atomic.Bool
	// onFlood is told so, once.
	onFlood func()

	mu    sync.Mutex // guards the fields below
	left  float64
	burst float64
	rate  float64
	at    time.Time
}

func newIntake() *intake {
	return &intake{maxAnswers: answerIntake, left: watchIntake, burst: watchIntake, rate: watchRate, at: time.Now()}
}

// answer takes in n bytes of an answer, until done is told.
func (i *intake) answer(n int) error {
	if i.answers.Add(int64(n)) > i.maxAnswers {
		return errTooMuch
	}
	return nil
}

// done is told that an answer of n bytes is read no further.
func (i *intake) done(n int64) { i.answers.Add(-n) }

// watch takes in n bytes of a watch.
func (i *intake) watch(n int, now time.Time) error {
	i.mu.Lock()
	i.left = min(i.burst, i.left+i.rate*now.Sub(i.at).Seconds()) - float64(n)
	i.at = now
	enough := i.left < 0
	i.mu.Unlock()
	if !enough {
		return nil
	}
	if !i.flooded.Swap(true) && i.onFlood != nil {
		i.onFlood()
	}
	return errTooMuch
}
