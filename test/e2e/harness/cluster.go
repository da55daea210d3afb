// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// Scheme knows the built-in kinds and the operator's own.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

const manifestOwner = client.FieldOwner("harness")

func (l *Lab) prepareHub() error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	for _, ns := range []string{ClustersNamespace, SystemNamespace} {
		if err := l.Hub.ensureNamespace(ctx, ns); err != nil {
			return err
		}
	}
	// The hub is a cluster that children can live on, too: the same rules serve.
	for _, dir := range []string{"crd", "target-access", "rbac"} {
		if err := l.Hub.applyFolder(ctx, filepath.Join(l.root, "config", dir)); err != nil {
			return err
		}
	}
	if err := l.Hub.waitForKinds(ctx); err != nil {
		return err
	}
	return l.Hub.makeAccount()
}

// waitForKinds waits until the API server serves what the CRDs define.
func (c *Cluster) waitForKinds(ctx context.Context) error {
	for _, list := range []client.ObjectList{
		&v1alpha1.CinderList{}, &v1alpha1.CinderBackendList{}, &v1alpha1.CinderBackupBackendList{}, &v1alpha1.TargetClusterList{},
	} {
		var last error
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			last = c.Client.List(ctx, list)
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("%T is not served on %s: %w", list, c.Name, last)
		}
	}
	return nil
}

func (c *Cluster) prepareTarget() error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	if err := c.ensureNamespace(ctx, SystemNamespace); err != nil {
		return err
	}
	if err := c.applyFolder(ctx, filepath.Join(c.lab.root, "config", "target-access")); err != nil {
		return err
	}
	return c.makeAccount()
}

// AccountKubeconfig is the file that carries the operator's own credentials.
func (c *Cluster) AccountKubeconfig() string {
	return filepath.Join(c.lab.dir, c.Name+".account.kubeconfig")
}

func (c *Cluster) makeAccount() error {
	out, err := c.lab.runFor(commandTimeout, "account", c.Name, "--namespace", SystemNamespace, "--service-account", account, "--out", c.AccountKubeconfig())
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return c.waitForRights()
}

// waitForRights waits until the API server's authorizer has seen the account's
// bindings: it learns of them through a watch of its own.
func (c *Cluster) waitForRights() error {
	cfg, err := clientcmd.BuildConfigFromFlags("", c.AccountKubeconfig())
	if err != nil {
		return fmt.Errorf("read the account's kubeconfig of %s: %w", c.Name, err)
	}
	cfg.Timeout = 10 * time.Second
	as, err := client.New(cfg, client.Options{Scheme: Scheme})
	if err != nil {
		return fmt.Errorf("make a client of %s: %w", c.Name, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	var last error
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		last = as.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the account on %s has no rights: %w", c.Name, last)
	}
	return nil
}

// ensureNamespace makes a namespace that may be there already. One that another
// suite left is on its way out, and is waited for.
func (c *Cluster) ensureNamespace(ctx context.Context, name string) error {
	err := wait.PollUntilContextTimeout(ctx, pollInterval, commandTimeout, true, func(ctx context.Context) (bool, error) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err := c.Client.Create(ctx, ns)
		if !apierrors.IsAlreadyExists(err) {
			return err == nil, err
		}
		err = c.Client.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		return err == nil && ns.DeletionTimestamp == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("create namespace %s on %s: %w", name, c.Name, err)
	}
	return nil
}

// applyFolder applies the manifests of a folder in the order of their names. A
// kind whose CRD was made a moment ago may not be served yet, so one apply is
// tried again for a while.
func (c *Cluster) applyFolder(ctx context.Context, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("no manifests in %s", dir)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		if err := c.applyFile(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// applyFile applies every manifest of a file.
func (c *Cluster) applyFile(ctx context.Context, file string) error {
	objs, err := readManifests(file)
	if err != nil {
		return err
	}
	for _, obj := range objs {
		if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), manifestOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s of %s on %s: %w", obj.GetKind(), obj.GetName(), file, c.Name, err)
		}
	}
	return nil
}

func readManifests(file string) ([]*unstructured.Unstructured, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec := yaml.NewYAMLOrJSONDecoder(f, 4096)
	var objs []*unstructured.Unstructured
	for {
		u := &unstructured.Unstructured{}
		switch err := dec.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			return objs, nil
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", file, err)
		case u.Object != nil:
			objs = append(objs, u)
		}
	}
}

// UID is the cluster's identity: the UID of its kube-system namespace.
func (c *Cluster) UID(t testing.TB) types.UID {
	t.Helper()
	ns := &corev1.Namespace{}
	c.Get(t, client.ObjectKey{Name: metav1.NamespaceSystem}, ns)
	return ns.UID
}

// Get reads an object live. A failure ends the test.
func (c *Cluster) Get(t testing.TB, key client.ObjectKey, obj client.Object) {
	t.Helper()
	if err := c.Client.Get(t.Context(), key, obj); err != nil {
		t.Fatalf("get %T %s on %s: %v", obj, key, c.Name, err)
	}
}

// Create makes an object. A failure ends the test.
func (c *Cluster) Create(t testing.TB, obj client.Object) {
	t.Helper()
	if err := c.Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s on %s: %v", obj, client.ObjectKeyFromObject(obj), c.Name, err)
	}
}

// Ensure makes an object that may be there already: what an earlier test of the
// package left in a namespace that they share.
func (c *Cluster) Ensure(t testing.TB, obj client.Object) {
	t.Helper()
	if err := c.Client.Create(t.Context(), obj); apierrors.IsAlreadyExists(err) {
		c.Get(t, client.ObjectKeyFromObject(obj), obj)
	} else if err != nil {
		t.Fatalf("create %T %s on %s: %v", obj, client.ObjectKeyFromObject(obj), c.Name, err)
	}
}

// Delete deletes an object that may be gone already.
func (c *Cluster) Delete(t testing.TB, obj client.Object) {
	t.Helper()
	if err := c.Client.Delete(t.Context(), obj); client.IgnoreNotFound(err) != nil {
		t.Fatalf("delete %T %s on %s: %v", obj, client.ObjectKeyFromObject(obj), c.Name, err)
	}
}

// Change reads an object, changes it and writes it, again after a conflict.
func Change[T client.Object](t testing.TB, c *Cluster, obj T, change func(T)) {
	t.Helper()
	Eventually(t, 10*time.Second, fmt.Sprintf("change %T %s on %s", obj, client.ObjectKeyFromObject(obj), c.Name), func(ctx context.Context) error {
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change(obj)
		return c.Client.Update(ctx, obj)
	})
}
