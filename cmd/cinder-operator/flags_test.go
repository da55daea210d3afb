// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestHelpNamesEveryFlagAndDefault(t *testing.T) {
	var out bytes.Buffer
	if _, err := parse([]string{"--help"}, &out); !errors.Is(err, pflag.ErrHelp) {
		t.Fatalf("parse(--help) = %v, want pflag.ErrHelp", err)
	}
	golden := filepath.Join("testdata", "help.golden")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("help text differs from %s (-want +got), run with -update to accept:\n%s", golden, diff)
	}
}

// The flags are an interface: a chart and a unit file name them.
func TestTheFlagsAreExactlyThese(t *testing.T) {
	want := []string{
		"kubeconfig", "namespace", "hub-id",
		"clusters-namespace", "require-allowed-namespaces", "allow-insecure-targets", "allow-local-targets",
		"abandon-after", "connect-grace", "probe-interval", "probe-timeout", "probe-failures",
		"default-image-pull-policy", "max-concurrent-reconciles",
		"leader-elect", "leader-election-namespace",
		"metrics-bind-address", "metrics-secure", "health-probe-bind-address", "webhook-bind-address",
		"webhook-name", "webhook-namespace", "webhook-rotate-certificates",
		"zap-devel", "zap-encoder", "zap-log-level", "zap-stacktrace-level", "zap-time-encoding",
		"version",
	}
	o := defaultOptions()
	var got []string
	flagSet(&o).VisitAll(func(f *pflag.Flag) {
		got = append(got, f.Name)
		if f.Usage == "" {
			t.Errorf("--%s has no help text", f.Name)
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

func TestParseReadsValues(t *testing.T) {
	got, err := parse([]string{
		"--kubeconfig=hub.kubeconfig", "--namespace=openstack", "--hub-id=hub-1", "--clusters-namespace=",
		"--abandon-after=1m", "--probe-failures=2", "--default-image-pull-policy=Never", "--leader-elect",
		"--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:9000",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := defaultOptions()
	want.Kubeconfig, want.Namespace, want.HubID, want.ClustersNamespace = "hub.kubeconfig", "openstack", "hub-1", ""
	want.AbandonAfter, want.ProbeFailures, want.DefaultImagePullPolicy, want.LeaderElect = time.Minute, 2, "Never", true
	want.MetricsBindAddress, want.HealthProbeBindAddress = "0", "127.0.0.1:9000"
	// Functions do not compare.
	got.Zap.TimeEncoder, want.Zap.TimeEncoder = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestParseRefusesWhatCannotBeUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"an unknown flag":                      {[]string{"--nonsense"}, []string{"unknown flag: --nonsense"}},
		"an argument":                          {[]string{"run"}, []string{`unexpected argument "run"`}},
		"a namespace that is no name":          {[]string{"--namespace=a_b"}, []string{`--namespace: "a_b" is no namespace name`}},
		"two namespaces":                       {[]string{"--namespace=a,b"}, []string{`--namespace: "a,b" is no namespace name`}},
		"a clusters namespace that is no name": {[]string{"--clusters-namespace=A"}, []string{`--clusters-namespace: "A" is no namespace name`}},
		"an identity that is no label value":   {[]string{"--hub-id=a b"}, []string{`--hub-id: "a b" is no label value`}},
		"a window of no time":                  {[]string{"--abandon-after=0s"}, []string{"--abandon-after: must be above zero"}},
		"a grace of no time":                   {[]string{"--connect-grace=0s"}, []string{"--connect-grace: must be above zero"}},
		"a negative probe interval":            {[]string{"--probe-interval=-1s"}, []string{"--probe-interval: must be above zero"}},
		"no probe failure":                     {[]string{"--probe-failures=0"}, []string{"--probe-failures: must be at least 1"}},
		"no worker":                            {[]string{"--max-concurrent-reconciles=0"}, []string{"--max-concurrent-reconciles: must be at least 1"}},
		"an unknown pull policy":               {[]string{"--default-image-pull-policy=always"}, []string{`must be Always, IfNotPresent or Never, not "always"`}},
		"an address without a port":            {[]string{"--metrics-bind-address=localhost"}, []string{`--metrics-bind-address: "localhost" is no host:port`}},
		"a webhook address without a port":     {[]string{"--webhook-bind-address=127.0.0.1"}, []string{`--webhook-bind-address: "127.0.0.1" is no host:port`}},
		"a webhook port that nobody can find":  {[]string{"--webhook-bind-address=:0"}, []string{`--webhook-bind-address: ":0" has no port from 1 to 65535`}},
		"a webhook name that names no Service": {[]string{"--webhook-bind-address=:9443", "--webhook-name=Big"}, []string{`--webhook-name: "Big" is no name of a Service`}},
		"every fault at once": {
			[]string{"--probe-failures=0", "--namespace=A", "--probe-timeout=0s"},
			[]string{"--probe-failures:", "--namespace:", "--probe-timeout:"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(tc.args, &bytes.Buffer{})
			if err == nil {
				t.Fatalf("parse(%q) succeeded", tc.args)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("parse(%q) = %q, want it to contain %q", tc.args, err, want)
				}
			}
		})
	}
}

func TestBadFlagsEndWithTheUsageCodeAndOneMessage(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := command(t.Context(), []string{"--probe-failures=0"}, &stdout, &stderr); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	want := "cinder-operator: --probe-failures: must be at least 1, not 0\nRun cinder-operator --help for the flags.\n"
	if diff := cmp.Diff(want, stderr.String()); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout = %q, want nothing", stdout.String())
	}
}

func TestVersionIsPrintedWithoutAHub(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := command(t.Context(), []string{"--version"}, &stdout, &stderr); code != exitOK {
		t.Errorf("exit code %d, want %d; stderr: %s", code, exitOK, stderr.String())
	}
	if !strings.HasPrefix(stdout.String(), "cinder-operator ") {
		t.Errorf("stdout = %q, want the version", stdout.String())
	}
}
