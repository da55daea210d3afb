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
	tr.intake.maxAnswers = 1 << 20
	resp, err := get(t, client, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	var tagged *transportError
	if !errors.Is(err, errTooMuch) || !errors.As(err, &tagged) {
		t.Errorf("reading an endless answer ended with %v", err)
	}
	if n > tr.intake.maxAnswers {
		t.Errorf("%d bytes were taken", n)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if left := tr.intake.answers.Load(); left != 0 {
		t.Errorf("%d bytes count on after the answer was closed", left)
	}
	if tr.intake.flooded.Load() {
		t.Error("an answer counts as a flood of the watches")
	}
}

func TestAWatchIsCutWhenItBringsTooMuch(t *testing.T) {
	s, reg := tlsServer(t, endless)
	client, tr, _ := clientFor(t, reg, true)
	told := 0
	tr.intake.burst, tr.intake.left, tr.intake.rate, tr.intake.onFlood = 1<<20, 1<<20, 1, func() { told++ }
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
	if !tr.intake.flooded.Load() || told != 1 {
		t.Errorf("flooded is %t, told %d times", tr.intake.flooded.Load(), told)
	}
}

func TestAWatchMayBringMoreInTheLongRunThanAtOnce(t *testing.T) {
	i := newIntake()
	i.onFlood = func() { t.Error("it counts as a flood") }
	now := i.at
	for range 100 {
		now = now.Add(time.Minute)
		if err := i.watch(watchRate*59, now); err != nil {
			t.Fatal(err)
		}
	}
}
