// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/projection"
)

var (
	mariaDBKind        = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MariaDB"}
	rabbitMQKind       = schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"}
	externalSecretKind = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ExternalSecret"}
	secretStoreKind    = externalSecretKind.GroupVersion().WithKind("SecretStore")
	clusterStoreKind   = externalSecretKind.GroupVersion().WithKind("ClusterSecretStore")
)

// fields is a piece of an object of another operator.
type fields = map[string]any

// object makes an object of another operator's kind beside the children.
func (f *fixture) object(gvk schema.GroupVersionKind, name string, spec fields) *unstructured.Unstructured {
	f.Helper()
	u := f.objectOf(gvk, name)
	u.Object["spec"] = spec
	f.create(f.children, u)
	return u
}

func (f *fixture) objectOf(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields{}}
	u.SetGroupVersionKind(gvk)
	u.SetName(name)
	if gvk != clusterStoreKind {
		u.SetNamespace(f.ns)
	}
	return u
}

// awaitObject waits for an object of another operator's kind.
func (f *fixture) awaitObject(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	f.Helper()
	u := f.objectOf(gvk, name)
	f.awaitChild(u, name)
	return u
}

// status plays the other operator: it reports a status.
func (f *fixture) status(gvk schema.GroupVersionKind, name string, status fields) {
	f.Helper()
	f.eventually("the status of "+gvk.Kind+" "+name, func(ctx context.Context) error {
		u := f.objectOf(gvk, name)
		if err := f.children.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		u.Object["status"] = status
		return f.children.Status().Update(ctx, u)
	})
}

// sayReady reports the condition Ready, with a reason and a message.
func (f *fixture) sayReady(gvk schema.GroupVersionKind, name, status, reason, message string) {
	f.Helper()
	f.status(gvk, name, fields{"conditions": []any{fields{
		"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
	}}})
}

// readySQL plays mariadb-operator, which has made everything that was asked for.
func (f *fixture) readySQL(kinds ...schema.GroupVersionKind) {
	f.Helper()
	for _, gvk := range kinds {
		f.awaitObject(gvk, cinderName)
		f.sayReady(gvk, cinderName, "True", "Created", "Created")
	}
}

// awaitSays waits for a condition whose message has all the parts.
func (f *fixture) awaitSays(typ string, status metav1.ConditionStatus, reason string, parts ...string) {
	f.Helper()
	f.eventually(fmt.Sprintf("%s=%s/%s to say %q", typ, status, reason, parts), func(context.Context) error {
		return contains(f.awaitCondition(typ, status, reason), parts...)
	})
}

// awaitField waits until a field of an object has a value; nil for none.
func (f *fixture) awaitField(gvk schema.GroupVersionKind, name string, want any, path ...string) {
	f.Helper()
	f.eventually(fmt.Sprintf("%v of %s to be %v", path, gvk.Kind, want), func(ctx context.Context) error {
		u := f.objectOf(gvk, name)
		if err := f.children.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		got, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
		if err == nil && got != want {
			err = fmt.Errorf("it is %v", got)
		}
		return err
	})
}

// absent complains about a child that is there.
func (f *fixture) absent(obj client.Object, name string) {
	f.Helper()
	if err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: name}, obj); !apierrors.IsNotFound(err) {
		f.Errorf("%T %s is there (error %v)", obj, name, err)
	}
}

// release takes the finalizers off an object, as its operator or the garbage
// collector does in the end.
func (f *fixture) release(obj client.Object, name string) {
	f.Helper()
	f.eventually(fmt.Sprintf("%T %s to be released", obj, name), func(ctx context.Context) error {
		obj.SetNamespace(f.ns)
		obj.SetName(name)
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		return client.IgnoreNotFound(f.children.Patch(ctx, obj, patch))
	})
}

// managedDatabase makes the sample Cinder name a managed database.
func managedDatabase(cr *v1alpha1.Cinder) {
	cr.Spec.Database.Host, cr.Spec.Database.ClusterRef = "", &v1alpha1.ClusterRefSpec{Name: "mariadb"}
}

// secretValue reads a value of a derived Secret.
func (f *fixture) secretValue(name, key string) string {
	f.Helper()
	var s corev1.Secret
	f.awaitChild(&s, name)
	return string(s.Data[key])
}

var sqlKinds = []schema.GroupVersionKind{projection.MariaDBDatabase, projection.MariaDBUser, projection.MariaDBGrant}

// everywhere runs a test with the children on the hub and on a target.
func everywhere(t *testing.T, test func(f *fixture)) {
	t.Run("on the hub", func(t *testing.T) {
		t.Parallel()
		test(onHub(t))
	})
	t.Run("on a target", func(t *testing.T) {
		t.Parallel()
		f := onTarget(t)
		f.register("edge")
		test(f)
	})
}
