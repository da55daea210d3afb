// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const (
	// ReadyTimeout is generous: several suites share the machine.
	ReadyTimeout = 90 * time.Second

	databaseSecret  = "cinder-db"
	messagingSecret = "cinder-rabbit"
)

// Register registers a target on the hub with its operator account. The
// registration goes at the end of the test.
func (l *Lab) Register(t testing.TB, name string, target *Cluster, change ...func(*corev1.Secret)) *corev1.Secret {
	t.Helper()
	kubeconfig, err := os.ReadFile(target.AccountKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ClustersNamespace, Labels: map[string]string{v1alpha1.LabelKubeconfig: "true"}},
		Data:       map[string][]byte{v1alpha1.RegistrationKeyKubeconfig: kubeconfig},
	}
	for _, f := range change {
		f(s)
	}
	l.Hub.Create(t, s)
	t.Cleanup(func() { l.Remove(t, s) })
	return s
}

// Namespace makes a namespace of the test's own on the hub and on the given
// targets, with the Secrets that a Cinder of Cinder refers to on the latter.
func (l *Lab) Namespace(t testing.TB, name string, targets ...*Cluster) string {
	t.Helper()
	for _, c := range append([]*Cluster{l.Hub}, targets...) {
		if err := c.ensureNamespace(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range targets {
		CredentialSecrets(t, c, name)
	}
	return name
}

// CredentialSecrets makes the Secrets that Cinder refers to.
func CredentialSecrets(t testing.TB, c *Cluster, namespace string) {
	t.Helper()
	for name, data := range map[string]map[string]string{
		databaseSecret:  {"username": "cinder", "password": "s3cr€t/&"},
		messagingSecret: {"transport_url": "rabbit://cinder:secret@rabbitmq.openstack.svc:5672/cinder"},
	} {
		c.Ensure(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, StringData: data})
	}
}

// Cinder is a brownfield Cinder without Keystone. An empty target is the hub.
func Cinder(namespace, name, target string) *v1alpha1.Cinder {
	c := &v1alpha1.Cinder{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v1alpha1.CinderSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.org/openstack/cinder", Tag: "2026.1"},
			Database: v1alpha1.DatabaseSpec{
				Host: "mariadb.openstack.svc", Database: "cinder", SecretRef: v1alpha1.SecretRefSpec{Name: databaseSecret},
			},
			Cache:     v1alpha1.CacheSpec{Servers: []string{"memcached.openstack.svc:11211"}},
			Messaging: v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: messagingSecret}},
		},
	}
	if target != "" {
		c.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: target}
	}
	return c
}

// Backend is an NFS backend of a Cinder.
func Backend(c *v1alpha1.Cinder, name string) *v1alpha1.CinderBackend {
	return &v1alpha1.CinderBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace},
		Spec: v1alpha1.CinderBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: c.Name}, Type: v1alpha1.CinderBackendTypeNFS,
			NFS: &v1alpha1.NFSBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{Server: "nfs.example.org", Path: "/" + name}},
		},
	}
}

// BackupBackend is an NFS backup target of a Cinder.
func BackupBackend(c *v1alpha1.Cinder, name string) *v1alpha1.CinderBackupBackend {
	return &v1alpha1.CinderBackupBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace},
		Spec: v1alpha1.CinderBackupBackendSpec{
			CinderRef: v1alpha1.CinderRefSpec{Name: c.Name}, Type: v1alpha1.CinderBackupBackendTypeNFS,
			NFS: &v1alpha1.NFSBackupBackendSpec{NFSExportSpec: v1alpha1.NFSExportSpec{Server: "nfs.example.org", Path: "/" + name}},
		},
	}
}

// Deploy applies a Cinder with one NFS backend and one NFS backup target. They
// are deleted at the end of the test, while the operator still runs.
func (l *Lab) Deploy(t testing.TB, c *v1alpha1.Cinder) (*v1alpha1.CinderBackend, *v1alpha1.CinderBackupBackend) {
	t.Helper()
	b, bb := Backend(c, c.Name+"-nfs"), BackupBackend(c, c.Name+"-backups")
	for _, obj := range []client.Object{c, b, bb} {
		l.Hub.Create(t, obj)
	}
	t.Cleanup(func() { l.takeDown(t, c, b, bb) })
	return b, bb
}

// takeDown deletes a Cinder and then what is attached to it. Children on a
// target that the test took away are given up: nobody is left to wait for it.
func (l *Lab) takeDown(t testing.TB, c *v1alpha1.Cinder, satellites ...client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if operators.Load() == 0 {
		// Nobody is left to sweep: children go with their namespaces.
		for _, obj := range append([]client.Object{c}, satellites...) {
			l.drop(ctx, t, obj)
		}
		return
	}
	giveUp := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.AnnotationAbandonChildren))
	if !l.remove(t, c, 3*time.Second) {
		if err := l.Hub.Client.Patch(ctx, c, giveUp); client.IgnoreNotFound(err) != nil {
			t.Errorf("give the children of Cinder %s up: %v", client.ObjectKeyFromObject(c), err)
		}
	}
	for _, obj := range append([]client.Object{c}, satellites...) {
		l.Remove(t, obj)
	}
}

// drop deletes an object of the hub whoever holds it.
func (l *Lab) drop(ctx context.Context, t testing.TB, obj client.Object) {
	t.Helper()
	kind, err := apiutil.GVKForObject(obj, Scheme)
	if err == nil {
		err = l.Hub.remove(ctx, object{kind, client.ObjectKeyFromObject(obj)})
	}
	if err != nil {
		t.Error(err)
	}
}

// Remove deletes an object of the hub and waits until it is gone. It serves at
// the end of a test, whose own context is over.
func (l *Lab) Remove(t testing.TB, obj client.Object) {
	t.Helper()
	// What the next test finds is settled here; what holds a resource whose
	// operator or target is gone is the business of the test that took it away.
	if !l.remove(t, obj, 30*time.Second) {
		t.Logf("%T %s stays on %s with finalizers %v", obj, client.ObjectKeyFromObject(obj), l.Hub.Name, obj.GetFinalizers())
	}
}

// remove deletes an object of the hub and tells whether it went in time.
func (l *Lab) remove(t testing.TB, obj client.Object, within time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := l.Hub.Client.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
		t.Errorf("delete %T %s on %s: %v", obj, client.ObjectKeyFromObject(obj), l.Hub.Name, err)
		return true
	}
	return l.Hub.until(ctx, obj, func(ctx context.Context) error {
		switch err := l.Hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("still there")
	}) == nil
}

// Children are the objects on the cluster that carry the labels of a Cinder, as
// "Kind/name", whatever hub they belong to.
func (c *Cluster) Children(ctx context.Context, owner *v1alpha1.Cinder) ([]string, error) {
	var out []string
	for _, kind := range childLists {
		list := kind.list()
		if err := c.Client.List(ctx, list, client.InNamespace(owner.Namespace), ownedBy(owner)); err != nil {
			return nil, fmt.Errorf("list %s on %s: %w", kind.name, c.Name, err)
		}
		if err := eachItem(list, func(o client.Object) { out = append(out, kind.name+"/"+o.GetName()) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func ownedBy(owner *v1alpha1.Cinder) client.MatchingLabels {
	return client.MatchingLabels{
		"openstack.c5c3.io/owner-kind": "Cinder", "openstack.c5c3.io/owner-name": owner.Name, "openstack.c5c3.io/owner-namespace": owner.Namespace,
	}
}

// WaitNoChildren waits until the cluster has nothing of the Cinder.
func (c *Cluster) WaitNoChildren(t testing.TB, d time.Duration, owner *v1alpha1.Cinder) {
	t.Helper()
	Eventually(t, d, fmt.Sprintf("no children of %s on %s", client.ObjectKeyFromObject(owner), c.Name), func(ctx context.Context) error {
		have, err := c.Children(ctx, owner)
		if err == nil && len(have) > 0 {
			err = fmt.Errorf("still there: %v", have)
		}
		return err
	})
}
