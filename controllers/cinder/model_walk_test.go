// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// away begins to count how long there is no registration, unless it is counted.
func (w *world) away() {
	if w.registered == nowhere && w.reallyFor == never {
		w.reallyFor = 0
	}
}

// step is something that happens to the world. It answers false where it cannot
// happen.
type step struct {
	name string
	do   func(w *world) (bool, error)
}

func happens(name string, do func(w *world) bool) step {
	return step{name, func(w *world) (bool, error) { return do(w), nil }}
}

func register(at place) func(w *world) bool {
	return func(w *world) bool {
		if w.registered == at {
			return false
		}
		w.registered, w.standing, w.unseen = at, answers, true
		return true
	}
}

func turn(into standing) func(w *world) bool {
	return func(w *world) bool {
		if w.registered == nowhere || w.standing == into {
			return false
		}
		w.standing = into
		return true
	}
}

func older(age *int8) {
	if *age != never && *age < ripe {
		*age++
	}
}

func pass(killed bool) func(w *world) (bool, error) {
	return func(w *world) (bool, error) {
		if w.gone {
			return false, nil
		}
		lives, children := !w.deleted, w.children
		_, err := w.pass(killed)
		for at, there := range children {
			if lives && there && !w.children[at] && err == nil {
				err = fmt.Errorf("the children on %s were swept while the Cinder lives", place(at).uid())
			}
		}
		return true, err
	}
}

func steps() []step {
	return []step{
		happens("register A", register(clusterA)),
		happens("register B", register(clusterB)),
		happens("deregister", func(w *world) bool {
			if w.registered == nowhere {
				return false
			}
			w.registered, w.standing, w.unseen = nowhere, answers, false
			w.away()
			return true
		}),
		happens("refuse", turn(refusedNow)),
		happens("unlist the namespace", turn(unlisted)),
		happens("lose", turn(lost)),
		happens("return", turn(answers)),
		happens("delete", func(w *world) bool {
			if w.deleted {
				return false
			}
			// Without finalizers the API server lets it go at once.
			w.deleted, w.gone = true, !w.finalizers
			return true
		}),
		happens("restart", func(w *world) bool {
			w.starting, w.missingFor, w.reallyFor = true, never, never
			w.away()
			return true
		}),
		happens("first attempt ends", func(w *world) bool {
			was := w.starting
			w.starting = false
			return was
		}),
		happens("accept", func(w *world) bool {
			if w.registered == nowhere || w.accepted == w.registered {
				return false
			}
			w.accepted = w.registered
			return true
		}),
		happens("give up", func(w *world) bool {
			was := w.givenUp
			w.givenUp = true
			return !was
		}),
		happens("time passes", func(w *world) bool {
			if w.unseen && !w.gone {
				return false // the registry wakes every Cinder that names the cluster, at once
			}
			if w.deleted {
				older(&w.deletedFor)
			}
			older(&w.missingFor)
			older(&w.reallyFor)
			return true
		}),
		{"pass", pass(false)},
		{"pass, killed before its status", pass(true)},
	}
}

// ends are the ways out that every deleted Cinder has.
var ends = []struct {
	name  string
	do    func(w *world)
	empty bool // nothing may be left on the cluster that the Cinder knew
}{
	{"its cluster comes back", func(w *world) {
		if w.registered = w.pinned; w.pinned == nowhere {
			w.registered = clusterA
		}
		w.standing, w.starting = answers, false
	}, true},
	{"its registration stays away", func(w *world) {
		w.registered, w.starting = nowhere, false
		w.away()
	}, false},
	{"somebody gives up", func(w *world) { w.givenUp, w.starting = true, false }, false},
}

func (w world) endsWell() error {
	if !w.deleted || w.gone {
		return nil
	}
	for _, end := range ends {
		v := w
		end.do(&v)
		for range 2 * ripe {
			if _, err := v.pass(false); err != nil {
				return fmt.Errorf("when %s: %w", end.name, err)
			}
			older(&v.deletedFor)
			older(&v.missingFor)
			older(&v.reallyFor)
		}
		switch {
		case !v.gone:
			return fmt.Errorf("it is stuck when %s", end.name)
		case end.empty && !w.givenUp && w.accepted == nowhere && v.children[w.pinned]:
			return fmt.Errorf("children are left although %s", end.name)
		}
		if err := v.check(); err != nil {
			return fmt.Errorf("when %s: %w", end.name, err)
		}
	}
	return nil
}

// Every order of what may happen is walked to the end: a state that was met
// before is not entered again, for what follows does not depend on the way to it.
func TestNoOrderOfEventsSweepsTheLivingOrLosesChildrenOrHoldsForever(t *testing.T) {
	t.Parallel()
	type seen struct {
		from  world
		by    string
		depth int
	}
	all := map[world]seen{start(): {}}
	queue := []world{start()}
	path := func(w world) string {
		var names []string
		for s := all[w]; s.by != ""; s = all[s.from] {
			names = append(names, s.by)
		}
		slices.Reverse(names)
		return strings.Join(names, ", ")
	}
	deepest, gone, swept, abandoned := 0, 0, 0, 0
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		for _, s := range steps() {
			next := w
			happened, err := s.do(&next)
			if !happened {
				continue
			}
			if _, known := all[next]; !known {
				all[next] = seen{w, s.name, all[w].depth + 1}
				deepest = max(deepest, all[next].depth)
				queue = append(queue, next)
				if err == nil {
					err = next.check()
				}
				if err == nil {
					err = next.endsWell()
				}
				if next.gone {
					gone++
					if next.told[clusterA] || next.told[clusterB] {
						abandoned++
					} else {
						swept++
					}
				}
			}
			if err != nil {
				t.Fatalf("%s, %s: %v\n%+v", path(w), s.name, err, next)
			}
		}
	}
	t.Logf("%d states, the farthest %d steps away; in %d of them the Cinder is gone", len(all), deepest, gone)
	if swept == 0 || abandoned == 0 || deepest < 10 {
		t.Errorf("the walk ended early: %d states with and %d without children given up, %d steps at most", abandoned, swept, deepest)
	}
}
