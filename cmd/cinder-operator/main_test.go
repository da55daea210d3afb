// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// runMainEnv makes the test binary be the operator: a process of its own, with
// its own signals, metrics registry and exit code.
const runMainEnv = "CINDER_OPERATOR_TEST_RUN_MAIN"

// accountName is the operator's account as the manifests bind it.
const accountName = "system:serviceaccount:c5c3-system:cinder-operator"

// The hub of this package: a real API server with the manifests a user applies.
var (
	admin client.Client
	// account and nobody are kubeconfigs: of the operator's account, and of a
	// user without any right.
	account, nobody string
)

func TestMain(m *testing.M) {
	if os.Getenv(runMainEnv) != "" {
		main()
	}
	os.Exit(suite(m))
}

func suite(m *testing.M) int {
	environment := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	folder, err := os.MkdirTemp("", "cinder-operator-")
	if err == nil {
		err = startHub(environment, folder)
	}
	defer func() {
		if err := errors.Join(environment.Stop(), os.RemoveAll(folder)); err != nil {
			fmt.Fprintf(os.Stderr, "clean up: %v\n", err)
		}
	}()
	if err != nil {
		fmt.Fprintf(os.Stderr, "these tests need a real API server, from the binaries in KUBEBUILDER_ASSETS: %v\n", err)
		return 1
	}
	return m.Run()
}

func startHub(environment *envtest.Environment, folder string) error {
	config, err := environment.Start()
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	if admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, pattern := range []string{"rbac/*.yaml", "target-access/20-roles.yaml", "webhook/role.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "config", pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := applyFile(file); err != nil {
				return fmt.Errorf("apply %s: %w", file, err)
			}
		}
	}
	for user, path := range map[string]*string{accountName: &account, "nobody": &nobody} {
		added, err := environment.AddUser(envtest.User{Name: user}, nil)
		if err != nil {
			return err
		}
		content, err := added.KubeConfig()
		if err != nil {
			return err
		}
		*path = filepath.Join(folder, fmt.Sprintf("%d.kubeconfig", len(user)))
		if err := os.WriteFile(*path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func applyFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	decoder := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(obj); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
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

func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{}
	ns.GenerateName = "cmd-"
	if err := admin.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// kubeconfigFor writes a kubeconfig of a server that nobody has to be at.
func kubeconfigFor(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "` + server + `"}}]
users: [{name: u, user: {token: t}}]
`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
