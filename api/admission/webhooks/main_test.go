// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"c5c3.io/cinder-operator/api/admission/certificates"
	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/apiservers"
)

const (
	operatorNamespace = "c5c3-system"
	installation      = "cinder-operator"
	operatorAccount   = "system:serviceaccount:c5c3-system:cinder-operator"
	limit             = 60 * time.Second
)

// The hub of this package: a real API server that asks the webhooks of this process, by the shipped configurations.
var (
	admin    client.Client
	operator client.Client
	hub      *rest.Config
	// account is the operator's with no more rights than those of the shipped manifests. The webhooks have them, too.
	account client.Client
	// webhooksAt is the address that the API server asks.
	webhooksAt string
)

func TestMain(m *testing.M) { os.Exit(suite(m)) }

func suite(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	before := goleak.IgnoreCurrent()
	environment := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "..", "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	ctx, stop := context.WithCancel(context.Background())
	var ended chan error
	err := apiservers.Frugal()
	if err == nil {
		ended, err = start(ctx, environment)
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	stop()
	if ended != nil {
		err = errors.Join(err, <-ended)
	}
	if err = errors.Join(err, environment.Stop()); err != nil {
		fmt.Fprintf(os.Stderr, "these tests need a real API server, from the binaries in KUBEBUILDER_ASSETS: %v\n", err)
		return 1
	}
	if hub != nil {
		if transport, err := rest.HTTPClientFor(hub); err == nil {
			transport.CloseIdleConnections()
		}
	}
	if err := goleak.Find(before); err != nil {
		fmt.Fprintf(os.Stderr, "goroutines are left behind: %v\n", err)
		return 1
	}
	return code
}

func start(ctx context.Context, environment *envtest.Environment) (ended chan error, err error) {
	if hub, err = environment.Start(); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	if admin, err = client.New(hub, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	user, err := environment.AddUser(envtest.User{Name: operatorAccount, Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return nil, err
	}
	if operator, err = client.New(user.Config(), client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	limited, err := environment.AddUser(envtest.User{Name: operatorAccount}, nil)
	if err != nil {
		return nil, err
	}
	if account, err = client.New(limited.Config(), client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	for _, path := range []string{"rbac/00-namespace.yaml", "rbac/role.yaml", "rbac/bindings.yaml", "webhook/role.yaml"} {
		if err := apply(ctx, filepath.Join("..", "..", "..", "config", path)); err != nil {
			return nil, fmt.Errorf("apply %s: %w", path, err)
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	webhooksAt = fmt.Sprintf("127.0.0.1:%d", port)
	if err := configure(ctx, port); err != nil {
		return nil, err
	}
	certificate, err := certificates.New(certificates.Options{
		Namespace: operatorNamespace, Name: installation, Rotate: true, ExtraNames: []string{"localhost"},
		Timing: certificates.Timing{Interval: time.Second, Handover: 4 * time.Second, Settle: 2 * time.Second},
	})
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(limited.Config(), ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: ptr.To(10 * time.Second),
		WebhookServer: crwebhook.NewServer(crwebhook.Options{
			Host: "127.0.0.1", Port: port, TLSOpts: []func(*tls.Config){certificate.Configure},
		}),
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(certificate.SetupWithManager(mgr), SetupWithManager(mgr, mgr.GetAPIReader())); err != nil {
		return nil, err
	}
	result := make(chan error, 1)
	go func() { result <- mgr.Start(ctx) }()
	return result, served(ctx)
}

// served waits until the API server is answered by the webhooks.
func served(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		probe := newBackend("default", "served")
		last = admin.Create(ctx, probe, client.DryRunAll)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the webhooks are not served: %w; the last answer: %w", err, last)
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// apply creates what a manifest holds.
func apply(ctx context.Context, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := documents.Decode(obj); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(obj.Object) == 0 {
			continue
		}
		if err := admin.Create(ctx, obj); err != nil {
			return err
		}
	}
}

// configure applies the shipped configurations, with the address of this process in place of a Service that nobody plays
// here. They come without an authority.
func configure(ctx context.Context, port int) error {
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	address := func(c *admissionregistrationv1.WebhookClientConfig) {
		c.URL = ptr.To(fmt.Sprintf("https://localhost:%d%s", port, *c.Service.Path))
		c.Service = nil
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var obj client.Object
		if bytes.Contains(document, []byte("kind: MutatingWebhookConfiguration")) {
			config := &admissionregistrationv1.MutatingWebhookConfiguration{}
			if err := yaml.Unmarshal(document, config); err != nil {
				return err
			}
			for i := range config.Webhooks {
				address(&config.Webhooks[i].ClientConfig)
			}
			obj = config
		} else if bytes.Contains(document, []byte("kind: ValidatingWebhookConfiguration")) {
			config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			if err := yaml.Unmarshal(document, config); err != nil {
				return err
			}
			for i := range config.Webhooks {
				address(&config.Webhooks[i].ClientConfig)
			}
			obj = config
		} else {
			continue
		}
		if err := admin.Create(ctx, obj); err != nil {
			return err
		}
	}
}
