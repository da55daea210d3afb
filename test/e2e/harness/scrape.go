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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Sample is one series of a scrape of /metrics.
type Sample struct {
	Name  string
	Value float64
	// labels are as they stand in the scrape: it has thousands of them, and few are asked for.
	labels string
}

// Labels are the sample's labels by name.
func (s Sample) Labels() map[string]string {
	labels := map[string]string{}
	for _, m := range sampleLabel.FindAllStringSubmatch(s.labels, -1) {
		labels[m[1]] = m[2]
	}
	return labels
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
		out = append(out, Sample{Name: name, Value: value, labels: labels})
	}
	return out
}

func (s Sample) has(pairs []string) bool {
	if len(pairs) == 0 {
		return true
	}
	labels := s.Labels()
	for i := 0; i+1 < len(pairs); i += 2 {
		if labels[pairs[i]] != pairs[i+1] {
			return false
		}
	}
	return true
}

// Of are the series of a name whose labels include the given pairs.
func (s Samples) Of(name string, pairs ...string) Samples {
	var out Samples
	for _, one := range s {
		if one.Name == name && one.has(pairs) {
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

// OfCinder are the series that a Cinder has of its own.
func (s Samples) OfCinder(c *v1alpha1.Cinder) Samples {
	var out Samples
	for _, one := range s {
		if strings.HasPrefix(one.Name, "cinder_operator_") && one.has([]string{"cinder", c.Name, "namespace", c.Namespace}) {
			out = append(out, one)
		}
	}
	return out
}

// JobsEnded complains unless so many Jobs of a kind (db_sync, db_purge,
// service_remove) are counted for a Cinder, each with its duration.
func (s Samples) JobsEnded(c *v1alpha1.Cinder, kind string, succeeded, failed int) error {
	name := "cinder_operator_" + kind
	own := s.OfCinder(c)
	for result, want := range map[string]int{"succeeded": succeeded, "failed": failed} {
		series := own.Of(name+"_total", "result", result)
		if got := series.Sum(name + "_total"); got != float64(want) || len(series) > 1 || len(series) == 1 && len(series[0].Labels()) != 3 {
			return fmt.Errorf("%s_total of the result %s is %v, want %d", name, result, series, want)
		}
	}
	for _, series := range []Samples{own.Of(name + "_duration_seconds_count"), own.Of(name+"_duration_seconds_bucket", "le", "+Inf")} {
		if len(series) != 1 || series[0].Value != float64(succeeded+failed) {
			return fmt.Errorf("the durations of %s are %v, want %d", name, series, succeeded+failed)
		}
	}
	if sum := own.Of(name + "_duration_seconds_sum"); len(sum) != 1 || sum[0].Value < 0 || len(sum[0].Labels()) != 2 {
		return fmt.Errorf("%s_duration_seconds_sum is %v", name, sum)
	}
	return nil
}

// ConditionsTold complains unless the series of a Cinder's conditions say what its
// status says.
func (s Samples) ConditionsTold(c *v1alpha1.Cinder) error {
	const name = "cinder_operator_cinder_condition"
	target := ""
	if ref := c.Spec.TargetClusterRef; ref != nil {
		target = ref.Name
	}
	values := map[metav1.ConditionStatus]float64{metav1.ConditionTrue: 1, metav1.ConditionFalse: 0, metav1.ConditionUnknown: -1}
	own := s.OfCinder(c).Of(name)
	for _, cond := range c.Status.Conditions {
		series := own.Of(name, "type", cond.Type, "target_cluster", target)
		if len(series) != 1 || series[0].Value != values[cond.Status] {
			return fmt.Errorf("the series of %s=%s are %v", cond.Type, cond.Status, series)
		}
	}
	if len(own) != len(c.Status.Conditions) {
		return fmt.Errorf("%d conditions have the series %v", len(c.Status.Conditions), own)
	}
	return nil
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
