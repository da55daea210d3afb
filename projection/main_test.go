// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	// Its CRDs are read from the module; the import is what keeps that required.
	_ "github.com/mariadb-operator/mariadb-operator/api/v1alpha1"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"c5c3.io/cinder-operator/test/e2e/apiservers"
)

var (
	scheme = runtime.NewScheme()
	// apiServer is the one API server of the package's tests; each test has a
	// namespace of its own there.
	apiServer *rest.Config
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	log.SetLogger(zap.New())
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(gatewayv1.Install(scheme))
	crds, err := collaborators()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := apiservers.Frugal(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	env := &envtest.Environment{
		CRDInstallOptions:        envtest.CRDInstallOptions{Paths: crds, ErrorIfPathMissing: true},
		ControlPlaneStartTimeout: time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	apiServer, err = env.Start()
	if err != nil {
		fmt.Fprintf(os.Stderr, "start an API server (KUBEBUILDER_ASSETS=%q): %v\n", os.Getenv("KUBEBUILDER_ASSETS"),
			errors.Join(err, env.Stop()))
		return 1
	}
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "stop the API server: %v\n", err)
		return 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// collaborators are the CRDs of the optional kinds, from the modules that bring
// them. The autoscaler's is left out: that kind stays unserved.
func collaborators() ([]string, error) {
	var paths []string
	for module, files := range map[string][]string{
		"sigs.k8s.io/gateway-api": {"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
		"github.com/mariadb-operator/mariadb-operator": {
			"config/crd/bases/k8s.mariadb.com_databases.yaml",
			"config/crd/bases/k8s.mariadb.com_users.yaml",
			"config/crd/bases/k8s.mariadb.com_grants.yaml",
		},
	} {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			return nil, fmt.Errorf("find the module %s: %w", module, err)
		}
		for _, f := range files {
			paths = append(paths, filepath.Join(strings.TrimSpace(string(dir)), f))
		}
	}
	return paths, nil
}
