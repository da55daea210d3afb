// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/projection"
)

// Nothing polls here: each step of mariadb-operator moves the condition on by its
// event alone.
func TestAManagedDatabaseIsProvisionedOnceItsServerIsReady(t *testing.T) {
	t.Parallel()
	everywhere(t, func(f *fixture) {
		f.secret("db", map[string]string{"password": "p@ss"})
		f.secret("bus", map[string]string{"transport_url": "rabbit://u:p@rabbit/" + f.ns})
		f.backend("nfs-a")
		f.cinder(managedDatabase)
		typ := v1alpha1.ConditionDatabaseReady
		f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonClusterNotReady, "MariaDB "+f.ns+"/mariadb does not exist")
		f.object(mariaDBKind, "mariadb", fields{"storage": fields{"size": "1Gi"}})
		f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonClusterNotReady, "reports no condition Ready yet")
		for _, gvk := range sqlKinds {
			f.absent(f.objectOf(gvk, cinderName), cinderName)
		}
		f.sayReady(mariaDBKind, "mariadb", "False", "StatefulSetNotReady", "Not ready")
		f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonClusterNotReady, "Ready is False: StatefulSetNotReady: Not ready")
		f.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running")
		f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDatabase, "Database "+f.ns+"/cinder", "User "+f.ns+"/cinder", "Grant "+f.ns+"/cinder")

		for gvk, want := range map[string]fields{
			"Database": {"name": "cinder"},
			"User": {
				"name": "cinder", "host": "%", "maxUserConnections": int64(24),
				"passwordSecretKeyRef": fields{"name": "db", "key": "password"},
			},
			"Grant": {
				"privileges": []any{"ALL PRIVILEGES"}, "database": "cinder", "table": "*", "username": "cinder", "host": "%",
			},
		} {
			got := f.awaitObject(mariaDBKind.GroupVersion().WithKind(gvk), cinderName)
			spec, _, _ := unstructured.NestedMap(got.Object, "spec")
			if name, _, _ := unstructured.NestedString(spec, "mariaDbRef", "name"); name != "mariadb" {
				f.Errorf("%s refers to %q", gvk, name)
			}
			for key := range spec {
				if _, ok := want[key]; !ok {
					delete(spec, key) // what the definition fills in
				}
			}
			if diff := cmp.Diff(want, spec); diff != "" {
				f.Errorf("%s (-want +got):\n%s", gvk, diff)
			}
			if owned := metav1.GetControllerOf(got) != nil; owned != (f.target == "") || got.GetLabels()[projection.LabelOwnerName] != cinderName {
				f.Errorf("%s has the owners %v and labels %v", gvk, got.GetOwnerReferences(), got.GetLabels())
			}
		}
		if got, want := f.secretValue("cinder-db-connection", "connection"), "mysql+pymysql://cinder:p%40ss@mariadb."+f.ns+".svc:3306/cinder?charset=utf8mb4"; got != want {
			f.Errorf("the connection is %q, want %q", got, want)
		}
		f.readySQL(sqlKinds[0], sqlKinds[1])
		f.sayReady(sqlKinds[2], cinderName, "False", "Failed", "no such user")
		f.awaitSays(typ, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDatabase, "Grant", "Failed: no such user")
		f.readySQL(sqlKinds[2])
		f.endJob("cinder-db-sync", true)
		f.awaitReady()

		// The cap follows what may hold connections, before it is started.
		limit := func(want int64) {
			f.Helper()
			f.awaitField(projection.MariaDBUser, cinderName, want, "spec", "maxUserConnections")
		}
		second := f.backend("nfs-b")
		limit(26)
		f.awaitReady()
		if err := suite.hub.Delete(f.Context(), second); err != nil {
			f.Fatal(err)
		}
		f.awaitGone(&appsv1.Deployment{}, "cinder-volume-nfs-b")
		f.release(&appsv1.Deployment{}, "cinder-volume-nfs-b")
		limit(24)
		f.update(func(cr *v1alpha1.Cinder) {
			cr.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 5, TargetCPUUtilization: ptr.To[int32](80)}
		})
		limit(32)
		f.update(func(cr *v1alpha1.Cinder) {
			cr.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{Replicas: ptr.To[int32](3)}}
		})
		limit(36)
		f.awaitReady()

		// An outage shows, and its end.
		f.sayReady(mariaDBKind, "mariadb", "False", "StatefulSetNotReady", "Not ready")
		f.awaitCondition(typ, metav1.ConditionFalse, v1alpha1.ReasonClusterNotReady)
		f.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running")
		f.awaitReady()
	})
}

func TestAManagedDatabaseGoesBeforeItsCinder(t *testing.T) {
	t.Parallel()
	everywhere(t, func(f *fixture) {
		f.secrets()
		f.object(mariaDBKind, "mariadb", fields{"storage": fields{"size": "1Gi"}})
		f.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running")
		cr := f.cinder(managedDatabase)
		f.readySQL(sqlKinds...)
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonDBSyncInProgress)
		hold := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["user.k8s.mariadb.com/finalizer"]}}`))
		if err := f.children.Patch(f.Context(), f.objectOf(projection.MariaDBUser, cinderName), hold); err != nil {
			f.Fatal(err)
		}
		if err := suite.hub.Delete(f.Context(), cr); err != nil {
			f.Fatal(err)
		}
		f.awaitSays(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDatabase, "deletion waits", "Grant, User and Database")
		f.absent(f.objectOf(projection.MariaDBGrant, cinderName), cinderName)
		if f.awaitObject(projection.MariaDBUser, cinderName).GetDeletionTimestamp() == nil {
			f.Error("the User is not being deleted")
		}
		if f.awaitObject(projection.MariaDBDatabase, cinderName).GetDeletionTimestamp() != nil {
			f.Error("the Database goes before the User is gone")
		}
		f.awaitEvent("FinalizingDatabase")
		f.release(f.objectOf(projection.MariaDBUser, cinderName), cinderName)
		f.awaitEvent("DatabaseFinalized")
		f.absent(f.objectOf(projection.MariaDBDatabase, cinderName), cinderName)
		var list eventsv1.EventList
		if err := suite.hub.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
			f.Fatal(err)
		}
		for i := range list.Items {
			if e := &list.Items[i]; e.Reason == "FinalizingDatabase" && e.Series != nil {
				f.Errorf("the event is repeated %d times", e.Series.Count)
			}
		}
	})
}

func TestADatabaseThatNeverGoesIsGivenUpByAnnotation(t *testing.T) {
	t.Parallel()
	everywhere(t, func(f *fixture) {
		f.secrets()
		f.object(mariaDBKind, "mariadb", fields{"storage": fields{"size": "1Gi"}})
		f.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running")
		cr := f.cinder(managedDatabase)
		f.readySQL(sqlKinds...)
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonDBSyncInProgress)
		hold := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["user.k8s.mariadb.com/finalizer"]}}`))
		for _, gvk := range []schema.GroupVersionKind{projection.MariaDBGrant, projection.MariaDBUser} {
			if err := f.children.Patch(f.Context(), f.objectOf(gvk, cinderName), hold); err != nil {
				f.Fatal(err)
			}
			f.Cleanup(func() { f.detachedRelease(gvk) })
		}
		if err := suite.hub.Delete(f.Context(), cr); err != nil {
			f.Fatal(err)
		}
		f.awaitSays(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDatabase, v1alpha1.AnnotationAbandonChildren+"=true")

		f.update(func(cr *v1alpha1.Cinder) {
			cr.Annotations = map[string]string{v1alpha1.AnnotationAbandonChildren: "true"}
		})
		note := f.awaitEvent("RemoteChildrenAbandoned")
		if err := contains(note, "Grant cinder", "User cinder"); err != nil {
			f.Error(err)
		}
		if strings.Contains(note, "Deployment") || strings.Contains(note, "Database") {
			f.Errorf("what was deleted is said to stay: %s", note)
		}
		f.awaitGoneFromHub(cr)
		for _, gvk := range []schema.GroupVersionKind{projection.MariaDBGrant, projection.MariaDBUser} {
			if f.awaitObject(gvk, cinderName).GetDeletionTimestamp() == nil {
				f.Errorf("the %s is not being deleted", gvk.Kind)
			}
		}
		f.absent(f.objectOf(projection.MariaDBDatabase, cinderName), cinderName)
		if f.target != "" {
			f.absent(&corev1.Secret{}, "cinder-db-connection")
		}
		if told := f.events("DatabaseFinalized"); len(told) > 0 {
			f.Errorf("it is said to be finalized: %v", told)
		}
	})
}

// awaitGoneFromHub waits until a deleted Cinder has left the hub.
func (f *fixture) awaitGoneFromHub(cr *v1alpha1.Cinder) {
	f.Helper()
	f.eventually("the Cinder to be gone", func(ctx context.Context) error {
		err := suite.hub.Get(ctx, client.ObjectKeyFromObject(cr), cr)
		if err == nil {
			err = fmt.Errorf("it has the finalizers %v", cr.Finalizers)
		}
		return client.IgnoreNotFound(err)
	})
}

// detachedRelease takes the finalizers off a SQL object after the test, whose
// own context is over then.
func (f *fixture) detachedRelease(gvk schema.GroupVersionKind) {
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	defer cancel()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := f.children.Patch(ctx, f.objectOf(gvk, cinderName), patch); client.IgnoreNotFound(err) != nil {
		f.Errorf("release the %s: %v", gvk.Kind, err)
	}
}

func TestDynamicCredentialsComeWithTheirOwnUser(t *testing.T) {
	t.Parallel()
	everywhere(t, func(f *fixture) {
		f.secret("db", map[string]string{"password": "static"})
		f.secret("bus", map[string]string{"transport_url": "rabbit://u:p@rabbit/" + f.ns})
		f.object(mariaDBKind, "mariadb", fields{"storage": fields{"size": "1Gi"}})
		f.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running")
		f.cinder(managedDatabase)
		f.readySQL(sqlKinds...)
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonDBSyncInProgress)
		f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Database.CredentialsMode = v1alpha1.CredentialsModeDynamic })
		f.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDBCredentials, `"username"`)
		f.setSecret("db", "username", "v-cinder-1")
		f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
		f.awaitGone(f.objectOf(projection.MariaDBUser, cinderName), cinderName)
		f.awaitGone(f.objectOf(projection.MariaDBGrant, cinderName), cinderName)
		f.awaitObject(projection.MariaDBDatabase, cinderName)
		if got, want := f.secretValue("cinder-db-connection", "connection"), "mysql+pymysql://v-cinder-1:static@mariadb."+f.ns+".svc:3306/cinder?charset=utf8mb4"; got != want {
			f.Errorf("the connection is %q, want %q", got, want)
		}
		f.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonDBSyncInProgress)
	})
}

func TestAnEncryptedDatabaseConnectionIsInsistedOnByTheUser(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	f.secrets()
	f.object(mariaDBKind, "mariadb", fields{"storage": fields{"size": "1Gi"}})
	f.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running")
	f.cinder(managedDatabase, func(cr *v1alpha1.Cinder) {
		cr.Spec.Database.TLS = &v1alpha1.DatabaseTLSSpec{
			Mode:                v1alpha1.DatabaseTLSVerifyFull,
			CABundleSecretRef:   &v1alpha1.SecretRefSpec{Name: "mariadb-ca"},
			ClientCertSecretRef: &v1alpha1.SecretRefSpec{Name: "mariadb-client"},
		}
	})
	f.awaitField(projection.MariaDBUser, cinderName, true, "spec", "require", "ssl")
	if err := contains(f.secretValue("cinder-db-connection", "connection"), "&ssl_ca=/etc/cinder-db-tls/ca.crt&ssl_cert=/etc/cinder-db-tls/tls.crt&ssl_key=/etc/cinder-db-tls/tls.key"); err != nil {
		t.Error(err)
	}
	f.readySQL(sqlKinds...)
	f.endJob("cinder-db-sync", true)
	var scheduler appsv1.Deployment
	f.awaitChild(&scheduler, "cinder-scheduler")
	mounted := false
	for _, m := range scheduler.Spec.Template.Spec.Containers[0].VolumeMounts {
		mounted = mounted || m.MountPath == "/etc/cinder-db-tls" || m.MountPath == "/etc/cinder-db-tls/"
	}
	if !mounted {
		t.Errorf("the mounts are %v", scheduler.Spec.Template.Spec.Containers[0].VolumeMounts)
	}
	f.update(func(cr *v1alpha1.Cinder) { cr.Spec.Database.TLS = nil })
	f.awaitField(projection.MariaDBUser, cinderName, nil, "spec", "require")
}
