// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// endless answers until the client has had enough.
func endless(w http.ResponseWriter, _ *http.Request) {
	chunk := []byte(strings.Repeat("x", 64<<10))
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func TestAnAnswerIsCutAtWhatIsTakenOfOneConnection(t *testing.T) {
	s, reg := tlsServer(t, endless)
	client, tr, _ := clientFor(t, reg, true)
	tr.intake = newIntake(Limits{Answers: 1 << 20})
	resp, err := get(t, client, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	var tagged *transportError
	if !errors.Is(err, errTooMuch) || !errors.As(err, &tagged) {
		t.Errorf("reading an endless answer ended with %v", err)
	}
	if n > tr.intake.limits.Answers {
		t.Errorf("%d bytes were taken", n)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if left := tr.intake.answers.Load(); left != 0 {
		t.Errorf("%d bytes count on after the answer was closed", left)
	}
	if tr.intake.flood.Load() != nil {
		t.Error("an answer counts as a flood of the watches")
	}
}

func TestAWatchIsCutWhenItBringsTooMuch(t *testing.T) {
	s, reg := tlsServer(t, endless)
	client, tr, _ := clientFor(t, reg, true)
	told := 0
	tr.intake = newIntake(Limits{Watches: 1 << 20, WatchRate: 1})
	tr.intake.exceeded = func(*excess) { told++ }
	for range 2 {
		resp, err := get(t, client, s.URL+"?watch=true")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, errTooMuch) {
			t.Errorf("reading an endless watch ended with %v", err)
		}
		_ = resp.Body.Close()
	}
	if tr.intake.flood.Load() == nil || told != 1 {
		t.Errorf("the flood is %v, told %d times", tr.intake.flood.Load(), told)
	}
}

func TestAWatchMayBringMoreInTheLongRunThanAtOnce(t *testing.T) {
	i := newIntake(Limits{})
	i.exceeded = func(*excess) { t.Error("it counts as a flood") }
	now := i.watched.at
	for range 100 {
		now = now.Add(time.Minute)
		if err := i.watch(59<<20, now); err != nil {
			t.Fatal(err)
		}
	}
}
