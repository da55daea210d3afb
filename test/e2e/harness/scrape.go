// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Sample is one series of a scrape of /metrics.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// Samples is a scrape of /metrics.
type Samples []Sample

var sampleLabel = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)

// Scrape reads /metrics.
func (o *Operator) Scrape(t testing.TB) Samples {
	t.Helper()
	var out Samples
	for line := range strings.Lines(o.Metrics(t)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		// A label's value may hold a space; the sample's value does not.
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			t.Fatalf("read the metric %q: %v", line, err)
		}
		name, labels, _ := strings.Cut(line[:at], "{")
		s := Sample{Name: name, Labels: map[string]string{}, Value: value}
		for _, m := range sampleLabel.FindAllStringSubmatch(labels, -1) {
			s.Labels[m[1]] = m[2]
		}
		out = append(out, s)
	}
	return out
}

// Of are the series of a name whose labels include the given pairs.
func (s Samples) Of(name string, pairs ...string) Samples {
	var out Samples
	for _, one := range s {
		matches := one.Name == name
		for i := 0; i+1 < len(pairs); i += 2 {
			matches = matches && one.Labels[pairs[i]] == pairs[i+1]
		}
		if matches {
			out = append(out, one)
		}
	}
	return out
}

// Sum adds up the series of a name whose labels include the given pairs.
func (s Samples) Sum(name string, pairs ...string) float64 {
	sum := 0.0
	for _, one := range s.Of(name, pairs...) {
		sum += one.Value
	}
	return sum
}

// Memory is what the process holds in RAM now and held at most, in MiB.
func (o *Operator) Memory(t testing.TB) (now, peak int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "VmRSS:":
			now = kib >> 10
		case "VmHWM:":
			peak = kib >> 10
		}
	}
	if now == 0 || peak == 0 {
		t.Fatalf("no memory figures in %s", b)
	}
	return now, peak
}

// ForgetPeak makes the peak of Memory begin anew.
func (o *Operator) ForgetPeak(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", o.cmd.Process.Pid), []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
}
