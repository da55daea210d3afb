// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"c5c3.io/cinder-operator/clusters"
)

// options is what the command line says, with the defaults of defaultOptions.
type options struct {
	Kubeconfig string
	Namespace  string
	HubID      string

	ClustersNamespace        string
	RequireAllowedNamespaces bool
	AllowInsecureTargets     bool
	AllowLocalTargets        bool
	AbandonAfter             time.Duration
	ConnectGrace             time.Duration
	ProbeInterval            time.Duration
	ProbeTimeout             time.Duration
	ProbeFailures            int

	DefaultImagePullPolicy  string
	MaxConcurrentReconciles int

	LeaderElect             bool
	LeaderElectionNamespace string
	MetricsBindAddress      string
	MetricsSecure           bool
	HealthProbeBindAddress  string
	WebhookBindAddress      string
	WebhookName             string
	WebhookNamespace        string
	WebhookRotate           bool

	Version bool
	Zap     zap.Options
}

func defaultOptions() options {
	return options{
		ClustersNamespace:       clusters.DefaultClustersNamespace,
		AbandonAfter:            5 * time.Minute,
		ConnectGrace:            10 * time.Second,
		ProbeInterval:           10 * time.Second,
		ProbeTimeout:            5 * time.Second,
		ProbeFailures:           5,
		MaxConcurrentReconciles: 10,
		MetricsBindAddress:      ":8080",
		HealthProbeBindAddress:  ":8081",
		WebhookBindAddress:      "0",
		WebhookName:             "cinder-operator",
		WebhookRotate:           true,
		Zap: zap.Options{
			TimeEncoder: zapcore.RFC3339TimeEncoder,
			// An error that is retried is news of the fleet, not of the code.
			StacktraceLevel: zapcore.PanicLevel,
		},
	}
}

// parse reads args (without the program's name). It answers pflag.ErrHelp when
// help was asked for, after writing it to out. Every other error names each
// flag whose value cannot be used.
func parse(args []string, out io.Writer) (options, error) {
	o := defaultOptions()
	fs := flagSet(&o)
	fs.Usage = func() { usage(out, fs) }
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: everything is set by flags", fs.Arg(0))
	}
	if o.Version {
		return o, nil
	}
	err := o.validate()
	return o, err
}

func usage(out io.Writer, fs *pflag.FlagSet) {
	_, _ = fmt.Fprintf(out, "cinder-operator runs OpenStack Cinder for a fleet of clusters.\n\nUsage:\n  cinder-operator [flags]\n\nFlags:\n%s", fs.FlagUsagesWrapped(100))
}

func flagSet(o *options) *pflag.FlagSet {
	fs := pflag.NewFlagSet("cinder-operator", pflag.ContinueOnError)
	fs.SortFlags = false

	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"`file` with the connection to the hub; by default the service account of the pod, and outside a cluster $KUBECONFIG or ~/.kube/config")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace,
		"only serve the custom resources of this hub `namespace`; empty serves all")
	fs.StringVar(&o.HubID, "hub-id", o.HubID,
		"`identity` of this hub on every child, for a hub whose kube-system namespace may not be read; by default that namespace's UID")

	fs.StringVar(&o.ClustersNamespace, "clusters-namespace", o.ClustersNamespace,
		"hub `namespace` that holds the registrations of target clusters; empty switches target clusters off")
	fs.BoolVar(&o.RequireAllowedNamespaces, "require-allowed-namespaces", o.RequireAllowedNamespaces,
		"a registration without allowedNamespaces admits no namespace instead of all")
	fs.BoolVar(&o.AllowInsecureTargets, "allow-insecure-targets", o.AllowInsecureTargets,
		"admit registrations that do not verify the server's certificate; for a lab only")
	fs.BoolVar(&o.AllowLocalTargets, "allow-local-targets", o.AllowLocalTargets,
		"admit registrations whose server or proxy is a loopback or link-local address")
	fs.DurationVar(&o.AbandonAfter, "abandon-after", o.AbandonAfter,
		"how long a deleted Cinder waits for its deregistered cluster before its children there are given up")
	fs.DurationVar(&o.ConnectGrace, "connect-grace", o.ConnectGrace,
		"how long after the start nothing is reported of a cluster whose first connection attempt has not ended")
	fs.DurationVar(&o.ProbeInterval, "probe-interval", o.ProbeInterval,
		"time between two probes of a connected cluster")
	fs.DurationVar(&o.ProbeTimeout, "probe-timeout", o.ProbeTimeout,
		"deadline of one probe")
	fs.IntVar(&o.ProbeFailures, "probe-failures", o.ProbeFailures,
		"probes that fail in a row before a cluster is unreachable")

	fs.StringVar(&o.DefaultImagePullPolicy, "default-image-pull-policy", o.DefaultImagePullPolicy,
		"pull `policy` of every container (Always, IfNotPresent, Never); by default a tag is pulled always and a digest if not present")
	fs.IntVar(&o.MaxConcurrentReconciles, "max-concurrent-reconciles", o.MaxConcurrentReconciles,
		"objects of one kind that are reconciled at the same time")

	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect,
		"only act while holding the Lease "+leaseName+"; needed as soon as two replicas run")
	fs.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", o.LeaderElectionNamespace,
		"`namespace` of that Lease; by default the pod's own, and required outside a cluster")
	fs.StringVar(&o.MetricsBindAddress, "metrics-bind-address", o.MetricsBindAddress,
		"`address` of /metrics; 0 switches it off")
	fs.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure,
		"serve /metrics over TLS, to callers that the hub's API server authenticates and authorizes")
	fs.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", o.HealthProbeBindAddress,
		"`address` of /healthz and /readyz; 0 switches them off")
	fs.StringVar(&o.WebhookBindAddress, "webhook-bind-address", o.WebhookBindAddress,
		"`address` of the admission webhooks; 0 switches them off")
	fs.StringVar(&o.WebhookName, "webhook-name", o.WebhookName,
		"`name` of the webhook configurations; their Service is NAME-webhook, their Secret NAME-webhook-certificate")
	fs.StringVar(&o.WebhookNamespace, "webhook-namespace", o.WebhookNamespace,
		"`namespace` of that Service and Secret; by default the pod's own, and required outside a cluster")
	fs.BoolVar(&o.WebhookRotate, "webhook-rotate-certificates", o.WebhookRotate,
		"make and renew the webhooks' certificate; false leaves the Secret and the configurations' authority to cert-manager")

	goflags := flag.NewFlagSet("zap", flag.ContinueOnError)
	o.Zap.BindFlags(goflags)
	fs.AddGoFlagSet(goflags)
	fs.Lookup("zap-time-encoding").Usage = "Zap time encoding (one of 'epoch', 'millis', 'nano', 'iso8601', 'rfc3339' or 'rfc3339nano'). Defaults to 'rfc3339'."

	fs.BoolVar(&o.Version, "version", false, "print the version and exit")
	return fs
}

// validate collects every fault instead of stopping at the first.
func (o *options) validate() error {
	var errs []error
	fault := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--%s: %s", flag, fmt.Sprintf(format, args...)))
	}
	for _, f := range []struct{ flag, value string }{
		{"namespace", o.Namespace},
		{"clusters-namespace", o.ClustersNamespace},
		{"leader-election-namespace", o.LeaderElectionNamespace},
		{"webhook-namespace", o.WebhookNamespace},
	} {
		if f.value == "" {
			continue
		}
		if msgs := validation.IsDNS1123Label(f.value); len(msgs) > 0 {
			fault(f.flag, "%q is no namespace name: %s", f.value, strings.Join(msgs, "; "))
		}
	}
	// The identity becomes a label value and part of the field manager.
	if msgs := validation.IsValidLabelValue(o.HubID); len(msgs) > 0 {
		fault("hub-id", "%q is no label value: %s", o.HubID, strings.Join(msgs, "; "))
	}
	for _, f := range []struct {
		flag  string
		value time.Duration
	}{
		{"abandon-after", o.AbandonAfter},
		{"connect-grace", o.ConnectGrace},
		{"probe-interval", o.ProbeInterval},
		{"probe-timeout", o.ProbeTimeout},
	} {
		if f.value <= 0 {
			fault(f.flag, "must be above zero, not %s", f.value)
		}
	}
	if o.ProbeFailures < 1 {
		fault("probe-failures", "must be at least 1, not %d", o.ProbeFailures)
	}
	if o.MaxConcurrentReconciles < 1 {
		fault("max-concurrent-reconciles", "must be at least 1, not %d", o.MaxConcurrentReconciles)
	}
	switch corev1.PullPolicy(o.DefaultImagePullPolicy) {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		fault("default-image-pull-policy", "must be Always, IfNotPresent or Never, not %q", o.DefaultImagePullPolicy)
	}
	for _, f := range []struct{ flag, value string }{
		{"metrics-bind-address", o.MetricsBindAddress},
		{"health-probe-bind-address", o.HealthProbeBindAddress},
	} {
		if off(f.value) {
			continue
		}
		if _, _, err := net.SplitHostPort(f.value); err != nil {
			fault(f.flag, "%q is no host:port", f.value)
		}
	}
	if !off(o.WebhookBindAddress) {
		if _, _, err := webhookAddress(o.WebhookBindAddress); err != nil {
			fault("webhook-bind-address", "%v", err)
		}
		if msgs := validation.IsDNS1123Label(o.WebhookName); len(msgs) > 0 {
			fault("webhook-name", "%q is no name of a Service: %s", o.WebhookName, strings.Join(msgs, "; "))
		}
	}
	return errors.Join(errs...)
}

// off tells whether an address flag switches its server off.
func off(address string) bool { return address == "" || address == "0" }
