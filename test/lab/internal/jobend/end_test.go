// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package jobend

import (
	"regexp"
	"strings"
	"testing"
)

func TestAPatternMatchesWholeNames(t *testing.T) {
	for _, c := range []struct {
		pattern, job string
		matches      bool
	}{
		{"cinder-db-sync", "cinder-db-sync", true},
		{"cinder-db-sync", "cinder-db-sync-2", false},
		{"cinder-*", "cinder-db-sync", true},
		{"cinder-*", "my-cinder-db-sync", false},
		{"*-purge-?", "cinder-purge-1", true},
		{"*-purge-?", "cinder-purge-12", false},
		{"a.b", "axb", false},
	} {
		end := End{Job: c.pattern}
		if got := regexp.MustCompile(end.expression()).MatchString(c.job); got != c.matches {
			t.Errorf("%s on %s: %v, want %v", c.pattern, c.job, got, c.matches)
		}
		if !regexp.MustCompile(end.expression()).MatchString(end.example()) {
			t.Errorf("%s does not match its own example %s", c.pattern, end.example())
		}
	}
}

func TestAMoreSpecificDecisionWeighsMore(t *testing.T) {
	ordered := []End{
		{Job: "*"},
		{Job: "*", Namespace: "n"},
		{Job: "cinder-*"},
		{Job: "cinder-db-*"},
		{Job: "cinder-db-*", Namespace: "n"},
		{Job: "a"},
		{Job: "cinder-db-sync"},
		{Job: "cinder-db-sync", Namespace: "n"},
	}
	for i := 1; i < len(ordered); i++ {
		if ordered[i-1].weight() >= ordered[i].weight() {
			t.Errorf("%+v does not weigh less than %+v", ordered[i-1], ordered[i])
		}
	}
}

func TestADecisionSurvivesItsConfigMap(t *testing.T) {
	want := End{Job: "a-*", Namespace: "n", ExitCode: 42, Message: "no such: \"column\" x\nand more", Hold: true}
	got, err := fromConfigMap(want.configMap())
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	other := want
	other.Message = "another"
	if other.name() != want.name() || other.id() == want.id() || !strings.HasPrefix(other.id(), other.name()+"-") {
		t.Errorf("names %s, %s; ids %s, %s", want.name(), other.name(), want.id(), other.id())
	}
}

func TestWhatCannotBeDecidedIsRefused(t *testing.T) {
	for _, end := range []End{{}, {Job: "a", ExitCode: -1}, {Job: "a", ExitCode: 256}} {
		if end.Validate() == nil {
			t.Errorf("%+v is accepted", end)
		}
	}
}
