// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import "time"

// loss says since when calls fail, and whether one ran into its deadline: then nobody else is to wait for one.
type loss struct {
	since  time.Time
	cause  string
	remedy string // where it is not the usual
	silent bool
	found  time.Time // when the cluster was found well again
}

// found clears the loss, if there is one, and tells whether there was.
func (c *connection) found() bool {
	l := c.lost.Load()
	if l == nil {
		return false
	}
	past := *l
	past.found = time.Now()
	c.past.Store(&past)
	return c.lost.CompareAndSwap(l, nil) // a call that hung meanwhile counts for more than the probe before it
}

// noteLoss keeps the first cause and its time: they stand in conditions, and must not change with every call. Nor must
// they when calls go on failing of a cluster whose probes are good.
func (c *connection) noteLoss(err error, silent bool) *loss {
	l := &loss{since: time.Now(), cause: describe(err), silent: silent}
	if past := c.past.Load(); past != nil && past.cause == l.cause && l.since.Sub(past.found) < 3*c.timing.ProbeInterval {
		l.since = past.since
	}
	if c.lost.CompareAndSwap(nil, l) {
		return l
	}
	old := c.lost.Load()
	if old == nil || old.silent || !silent {
		return old.or(l)
	}
	l.since = old.since
	c.lost.CompareAndSwap(old, l)
	return l
}

func (l *loss) or(other *loss) *loss {
	if l == nil {
		return other
	}
	return l
}
