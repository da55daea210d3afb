// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/apiservers"
)

const crdDirectory = "../../config/crd"

// The API server of this package. It serves the custom resources and stands for
// the cluster of the children as well.
var (
	config *rest.Config
	scheme = runtime.NewScheme()
	api    client.Client
)

func TestMain(m *testing.M) { os.Exit(suite(m)) }

func suite(m *testing.M) int {
	environment := &envtest.Environment{CRDDirectoryPaths: []string{crdDirectory}, ErrorIfCRDPathMissing: true}
	err := apiservers.Frugal()
	if err == nil {
		config, err = environment.Start()
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "stop the API server: %v\n", err)
		}
	}()
	if err != nil {
		fmt.Fprintf(os.Stderr, "these tests need a real API server, from the binaries in KUBEBUILDER_ASSETS: %v\n", err)
		return 1
	}
	config.QPS = -1
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			fmt.Fprintf(os.Stderr, "build the scheme: %v\n", err)
			return 1
		}
	}
	if api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		fmt.Fprintf(os.Stderr, "build a client: %v\n", err)
		return 1
	}
	return m.Run()
}

// fixture is one namespace with a Cinder in it, and a reconciler of each kind.
type fixture struct {
	t         *testing.T
	ctx       context.Context //nolint:containedctx // the test's own, for its helpers
	namespace string
	cinder    *v1alpha1.Cinder
	registry  *registry
	target    *target
	recorder  *recorder
	options   Options
}

const cinderName = "cinder"

func newFixture(t *testing.T) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "satellite-"}}
	must(t, api.Create(ctx, ns))
	f := &fixture{t: t, ctx: ctx, namespace: ns.Name, target: newTarget("edge-1"), recorder: &recorder{}}
	f.registry = &registry{target: f.target}
	f.options = Options{
		Client: api, APIReader: api, Registry: f.registry, Projector: newProjector(), Recorder: f.recorder,
	}
	f.cinder = newCinder(ns.Name)
	must(t, api.Create(ctx, f.cinder))
	return f
}

func newCinder(namespace string) *v1alpha1.Cinder {
	return &v1alpha1.Cinder{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cinderName},
		Spec: v1alpha1.CinderSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.org/cinder", Tag: "2026.1"},
			Database:         v1alpha1.DatabaseSpec{Host: "db", Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: "db"}},
			Cache:            v1alpha1.CacheSpec{Servers: []string{"cache:11211"}},
			Messaging:        v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "bus"}},
			TargetClusterRef: &v1alpha1.TargetClusterRefSpec{Name: "edge-1"},
		},
	}
}

func export() v1alpha1.NFSExportSpec {
	return v1alpha1.NFSExportSpec{Server: "nfs.example.org", Path: "/volumes"}
}

func nfsBackend(namespace string) *v1alpha1.CinderBackend {
	return &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nfs-a"},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName},
			Type:      v1alpha1.CinderBackendTypeNFS, NFS: &v1alpha1.NFSBackendSpec{NFSExportSpec: export()},
		},
	}
}

func nfsBackup(namespace string) *v1alpha1.CinderBackupBackend {
	return &v1alpha1.CinderBackupBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nfs-backups"},
		Spec: v1alpha1.CinderBackupBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName},
			Type:      v1alpha1.CinderBackupBackendTypeNFS, NFS: &v1alpha1.NFSBackupBackendSpec{NFSExportSpec: export()},
		},
	}
}

func rbdBackend(namespace string) *v1alpha1.CinderBackend {
	return &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "rbd-a"},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: cinderName},
			Type:      v1alpha1.CinderBackendTypeRBD,
			RBD: &v1alpha1.RBDBackendSpec{RBDPoolSpec: v1alpha1.RBDPoolSpec{
				Pool: "volumes", User: "cinder", Monitors: []v1alpha1.CephHost{"mon"}, Networks: []v1alpha1.IPv4CIDR{"10.0.0.0/8"},
				KeySecretRef: v1alpha1.SecretNameRefSpec{Name: "ceph"},
			}},
		},
	}
}

// pass runs one pass over obj and reads obj anew.
func (f *fixture) pass(obj client.Object) (ctrl.Result, error) {
	f.t.Helper()
	r := &reconciler{Options: f.options, kind: kindOf(obj)}
	result, err := r.Reconcile(f.ctx, mcreconcile.Request{Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}})
	if getErr := api.Get(f.ctx, client.ObjectKeyFromObject(obj), obj); client.IgnoreNotFound(getErr) != nil {
		f.t.Fatal(getErr)
	}
	return result, err
}

func (f *fixture) mustPass(obj client.Object) ctrl.Result {
	f.t.Helper()
	result, err := f.pass(obj)
	must(f.t, err)
	return result
}

func kindOf(obj client.Object) kind {
	if _, ok := obj.(*v1alpha1.CinderBackupBackend); ok {
		return backupBackends()
	}
	return backends()
}

// expect asserts a condition: "Status/Reason".
func (f *fixture) expect(obj client.Object, condition, want string) {
	f.t.Helper()
	c := meta.FindStatusCondition(*kindOf(obj).read(obj).conditions, condition)
	if c == nil {
		f.t.Errorf("%s is not set, want %s", condition, want)
		return
	}
	if got := string(c.Status) + "/" + c.Reason; got != want {
		f.t.Errorf("%s = %s (%s), want %s", condition, got, c.Message, want)
	}
}

func (f *fixture) message(obj client.Object, condition string) string {
	if c := meta.FindStatusCondition(*kindOf(obj).read(obj).conditions, condition); c != nil {
		return c.Message
	}
	return ""
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
