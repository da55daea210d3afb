// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// errTooMuch is what an excess is.
var errTooMuch = errors.New("the cluster sends more than is taken of it")

// excess says what a cluster sends too much of. Its words stand in conditions.
type excess struct {
	words string
	// cure is what is to be done about it where that is not the usual.
	cure string
}

func (e *excess) Error() string { return e.words }

// Is is asked by errors.Is.
func (e *excess) Is(target error) bool { return target == errTooMuch }

// remedy is what somebody can do about it.
func (e *excess) remedy() string {
	if e.cure != "" {
		return e.cure
	}
	return excessRemedy
}

// excessRemedy is what somebody can do about an excess of most kinds.
const excessRemedy = "delete what carries the label openstack.c5c3.io/owner-kind there and is needed no more, limit the registration to namespaces, or spread the Cinders over more clusters"

// Limits bound what is taken of one cluster, in bytes. Zero values take the defaults.
type Limits struct {
	// Answers bounds the answers that are being read at the same time: a client reads an answer to its end before it looks
	// at it. Default 64 MiB.
	Answers int64
	// Watches and WatchRate bound what watches bring: so much at once, the first synchronisation included, and so much per
	// second in the long run. Default 128 MiB and 1 MiB.
	Watches, WatchRate int64
	// Decoded bounds what answers become in memory once they are decoded, out of proportion to their bytes: so much within a
	// second. For the events of watches it is so much at once, and an eighth of it per second in the long run. What
	// becomes four times its bytes, and 4 KiB, is in proportion. Default 256 MiB.
	Decoded int64
	// Cached bounds the objects that are kept, and those of lists and first events that are being put together. Default
	// 256 MiB.
	Cached int64
}

func (l Limits) withDefaults() Limits {
	orDefault(&l.Answers, 64<<20)
	orDefault(&l.Watches, 128<<20)
	orDefault(&l.WatchRate, 1<<20)
	orDefault(&l.Decoded, 256<<20)
	orDefault(&l.Cached, 256<<20)
	return l
}

// intake bounds what a cluster can make the operator hold in memory.
type intake struct {
	limits  Limits
	answers atomic.Int64
	// pages are those of the lists that are being put together, in bytes.
	pages atomic.Int64
	// flood is set once the cluster sent too much for its caches to be kept.
	flood atomic.Pointer[excess]
	// exceeded is told of every excess. It does not block.
	exceeded func(*excess)

	watched, decodedAnswers, decodedEvents *bucket
}

func newIntake(limits Limits) *intake {
	limits = limits.withDefaults()
	return &intake{
		limits: limits, exceeded: func(*excess) {},
		watched:        newBucket(limits.Watches, limits.WatchRate),
		decodedAnswers: newBucket(limits.Decoded, limits.Decoded), decodedEvents: newBucket(limits.Decoded, limits.Decoded/8),
	}
}

// bucket is what may be taken in: so much at once, and so much per second in the long run.
type bucket struct {
	size, rate float64

	mu   sync.Mutex // guards the fields below
	left float64
	at   time.Time
}

func newBucket(size, rate int64) *bucket {
	return &bucket{size: float64(size), rate: float64(rate), left: float64(size), at: time.Now()}
}

// take takes in n more, unless they are too many.
func (b *bucket) take(n int64, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.size, b.left+b.rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.left < float64(n) {
		return false
	}
	b.left -= float64(n)
	return true
}

// answer takes in n bytes of an answer, until done is told.
func (i *intake) answer(n int) error {
	if i.answers.Add(int64(n)) <= i.limits.Answers {
		return nil
	}
	e := &excess{words: fmt.Sprintf("its answers are larger than the %s that are read of one cluster at a time", size(i.limits.Answers))}
	i.exceeded(e)
	return e
}

// done is told that an answer of n bytes is read no further.
func (i *intake) done(n int64) { i.answers.Add(-n) }

// watch takes in n bytes of a watch.
func (i *intake) watch(n int, now time.Time) error {
	if i.watched.take(int64(n), now) {
		return nil
	}
	return i.refuse(&excess{words: fmt.Sprintf("its watches bring more than the %s that are taken of one cluster at once, or %s a second in the long run",
		size(i.limits.Watches), size(i.limits.WatchRate))})
}

// answerDecoded takes in what an answer becomes, in bytes of memory.
func (i *intake) answerDecoded(n int64, now time.Time) error {
	if i.decodedAnswers.take(n, now) {
		return nil
	}
	e := i.amplified()
	i.exceeded(e)
	return e
}

// eventDecoded takes in what an event of a watch becomes.
func (i *intake) eventDecoded(n int64, now time.Time) error {
	if i.decodedEvents.take(n, now) {
		return nil
	}
	return i.refuse(i.amplified())
}

func (i *intake) amplified() *excess {
	return &excess{words: fmt.Sprintf("what it sends becomes more than the %s of memory that are taken for one cluster at once", size(i.limits.Decoded))}
}

// refuse notes that the cluster sent too much, and answers what was noted first.
func (i *intake) refuse(e *excess) *excess {
	if !i.flood.CompareAndSwap(nil, e) {
		return i.flood.Load()
	}
	i.exceeded(e)
	return e
}

// page takes in n bytes of a list, or of first events, that are put together in memory, until those are told to have ended.
func (i *intake) page(n int64) error {
	if e := i.cached(i.pages.Add(n)); e != nil {
		return i.refuse(e)
	}
	return nil
}

// cached answers what is wrong with keeping that many bytes, or nil.
func (i *intake) cached(n int64) *excess {
	if n <= i.limits.Cached {
		return nil
	}
	return &excess{words: fmt.Sprintf("the objects to be kept of it are larger than the %s that are kept of one cluster", size(i.limits.Cached))}
}

func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
