// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestWhatIsDeferredIsSaidOnceAndForgottenWithItsReason(t *testing.T) {
	t.Parallel()
	m := newDeferrals()
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	say := func(what string, cinder types.NamespacedName, key string, d deferred, want bool) {
		t.Helper()
		if got := m.first(cinder, key, d); got != want {
			t.Errorf("%s: said %v, want %v", what, got, want)
		}
	}
	one := deferred{"job-1", "refused"}
	say("a failure", a, "sync", one, true)
	say("the same", a, "sync", one, false)
	say("another Cinder's", b, "sync", one, true)
	say("another annotation's", a, "purge", one, true)
	say("another message", a, "sync", deferred{"job-1", "forbidden"}, true)
	say("another Job", a, "sync", deferred{"job-2", "forbidden"}, true)
	if got := len(m.last[a]); got != 2 {
		t.Errorf("%d texts are kept of two annotations", got)
	}

	m.drop(a, func(key string) bool { return key == "sync" })
	say("after it was remembered", a, "sync", deferred{"job-2", "forbidden"}, true)
	say("which was of one annotation", a, "purge", one, false)
	m.drop(a, func(string) bool { return true })
	m.forget(b)
	if len(m.last) > 0 {
		t.Errorf("left is %v", m.last)
	}
}
