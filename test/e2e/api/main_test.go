// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/apiservers"
)

const (
	assetsVariable = "KUBEBUILDER_ASSETS"
	crdDirectory   = "../../../config/crd"
	callTimeout    = 30 * time.Second
)

// The API server that every test of the package talks to.
var (
	hub       client.Client
	hubConfig *rest.Config
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	assets := os.Getenv(assetsVariable)
	for _, binary := range []string{"kube-apiserver", "etcd"} {
		if _, err := os.Stat(filepath.Join(assets, binary)); assets == "" || err != nil {
			fmt.Fprintf(os.Stderr, "%s=%q holds no %s: these tests need a real API server; set the variable to the directory of the lab's binaries\n",
				assetsVariable, assets, binary)
			return 1
		}
	}

	if err := apiservers.Frugal(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{crdDirectory},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "stop the API server: %v\n", err)
		}
	}()
	if err != nil {
		fmt.Fprintf(os.Stderr, "start an API server that serves the CustomResourceDefinitions: %v\n", err)
		return 1
	}
	// The corpus is a few hundred small requests to a server of our own.
	config.QPS, config.Burst = -1, -1

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			fmt.Fprintf(os.Stderr, "build the scheme: %v\n", err)
			return 1
		}
	}
	hubConfig = config
	hub, err = client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		fmt.Fprintf(os.Stderr, "build a client: %v\n", err)
		return 1
	}
	return m.Run()
}

// callContext bounds one test's calls.
func callContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
	t.Cleanup(cancel)
	return ctx
}
