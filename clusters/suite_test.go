// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/go-logr/logr"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/apiservers"
)

var (
	testScheme = runtime.NewScheme()
	// The two API servers of the package's tests. They have the same signer for nobody: what is accepted by one is not by
	// the other.
	hubConfig, targetConfig *rest.Config
	hubAdmin, targetAdmin   client.Client
	targetEnvironment       *envtest.Environment
)

func TestMain(m *testing.M) {
	if fuzzing() {
		os.Exit(m.Run())
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	log.SetLogger(logr.Discard())
	utilruntime.Must(clientgoscheme.AddToScheme(testScheme))
	utilruntime.Must(v1alpha1.AddToScheme(testScheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(testScheme))
	hub := &envtest.Environment{
		CRDInstallOptions:        envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "config", "crd")}, ErrorIfPathMissing: true},
		ControlPlaneStartTimeout: time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	target := &envtest.Environment{ControlPlaneStartTimeout: time.Minute, ControlPlaneStopTimeout: time.Minute}
	targetEnvironment = target
	folder, err := os.MkdirTemp("", "clusters-")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		err = errors.Join(auditWatches(target, folder), shareToken(folder, hub, target), apiservers.Frugal())
	}
	if err == nil {
		err = startBoth(hub, target)
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err := errors.Join(err, hub.Stop(), target.Stop()); err != nil {
		fmt.Fprintf(os.Stderr, "two API servers (KUBEBUILDER_ASSETS=%q): %v\n", os.Getenv("KUBEBUILDER_ASSETS"), err)
		return 1
	}
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// sharedToken is an administrator's on both API servers, as one of an identity provider would be.
const sharedToken = "shared-by-both"

func shareToken(folder string, with ...*envtest.Environment) error {
	file := filepath.Join(folder, "tokens.csv")
	for _, environment := range with {
		environment.ControlPlane.GetAPIServer().Configure().Append("token-auth-file", file)
	}
	return os.WriteFile(file, []byte(sharedToken+",shared,shared,system:masters\n"), 0o600)
}

func startBoth(hub, target *envtest.Environment) error {
	var wg sync.WaitGroup
	var hubErr, targetErr error
	wg.Go(func() { hubConfig, hubErr = hub.Start() })
	wg.Go(func() { targetConfig, targetErr = target.Start() })
	wg.Wait()
	if err := errors.Join(hubErr, targetErr); err != nil {
		return err
	}
	for _, cfg := range []*rest.Config{hubConfig, targetConfig} {
		cfg.QPS = -1
	}
	var err1, err2 error
	hubAdmin, err1 = client.New(hubConfig, client.Options{Scheme: testScheme})
	targetAdmin, err2 = client.New(targetConfig, client.Options{Scheme: testScheme})
	return errors.Join(err1, err2)
}

// eventually polls until f answers nil and fails with its last error.
func eventually(t *testing.T, within time.Duration, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %v", within, err)
		case <-tick.C:
		}
	}
}
