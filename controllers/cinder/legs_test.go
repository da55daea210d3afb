// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/controllers/cinder"
	"c5c3.io/cinder-operator/projection"
)

// leg is one watch: what happens to an object of the kind, and what the event
// alone has to bring about.
type leg struct {
	// kind is that of the object; what tells several legs of one kind apart.
	kind, what string
	// not says where the leg is not: on "hub" or "target".
	not string
	// everywhere: only an operator of every namespace has the leg.
	everywhere bool
	// first prepares what happens; the Cinder rests before it happens.
	first, happens func()
	// then is what has to come of it, or the condition with its reason that is
	// no longer True.
	then      func()
	condition string
	reason    string
	// undone puts everything right again; the Cinder has to be Ready by it.
	undone func()
}

func (s *still) legs() []leg {
	badSecret := func(name, key, good, bad, reason string) leg {
		return leg{kind: "Secret", what: "read, " + name, condition: v1alpha1.ConditionSecretsReady, reason: reason,
			happens: func() { s.setSecret(name, key, bad) }, undone: func() { s.setSecret(name, key, good) }}
	}
	sql := func(gvk schema.GroupVersionKind) leg {
		return leg{kind: gvk.Kind, what: "child", condition: v1alpha1.ConditionDatabaseReady, reason: v1alpha1.ReasonWaitingForDatabase,
			happens: func() { s.sayReady(gvk, cinderName, "False", "Failed", "by the test") },
			undone:  func() { s.sayReady(gvk, cinderName, "True", "Created", "Created") }}
	}
	backend := &v1alpha1.CinderBackend{ObjectMeta: metav1.ObjectMeta{Name: "rbd-a", Namespace: s.ns}}
	backup := &v1alpha1.CinderBackupBackend{ObjectMeta: metav1.ObjectMeta{Name: "rbd-b", Namespace: s.ns}}
	legs := []leg{
		badSecret("db", "password", "secret", "", v1alpha1.ReasonWaitingForDBCredentials),
		badSecret("user", "pw", "secret", "", v1alpha1.ReasonWaitingForServiceUserCredentials),
		badSecret(brokerSecret, "password", "secret", "a/b", v1alpha1.ReasonWaitingForMessagingCredentials),
		s.rotated("key-volume", "cinder-volume-rbd-a"), s.rotated("key-backup", "cinder-backup"),
		{kind: "ConfigMap", what: "read", condition: v1alpha1.ConditionSecretsReady, reason: v1alpha1.ReasonConfigError,
			happens: func() { s.policies("- no map\n") }, undone: func() { s.policies("volume:create: role:member\n") }},

		{kind: "MariaDB", condition: v1alpha1.ConditionDatabaseReady, reason: v1alpha1.ReasonClusterNotReady,
			happens: func() { s.sayReady(mariaDBKind, "mariadb", "False", "StatefulSetNotReady", "Not ready") },
			undone:  func() { s.sayReady(mariaDBKind, "mariadb", "True", "StatefulSetReady", "Running") }},
		{kind: "RabbitmqCluster", condition: v1alpha1.ConditionSecretsReady, reason: v1alpha1.ReasonWaitingForMessagingCredentials,
			happens: func() { s.defaultUser(brokerSecret, "elsewhere") }, undone: func() { s.defaultUser(brokerSecret, s.ns) }},
		{kind: "SecretStore", not: "target", condition: v1alpha1.ConditionSecretsReady, reason: v1alpha1.ReasonSecretStoreNotReady,
			happens: func() { s.sayReady(secretStoreKind, s.store().Name, "False", "InvalidProviderConfig", "sealed") },
			undone:  func() { s.sayReady(secretStoreKind, s.store().Name, "True", "Valid", "store validated") }},
		{kind: "ClusterSecretStore", not: "target", everywhere: true, condition: v1alpha1.ConditionSecretsReady, reason: v1alpha1.ReasonSecretStoreNotReady,
			happens: func() { s.sayReady(clusterStoreKind, s.store().Name, "False", "InvalidProviderConfig", "sealed") },
			undone:  func() { s.sayReady(clusterStoreKind, s.store().Name, "True", "Valid", "store validated") }},
		s.announced(),

		{kind: "CinderBackend",
			happens: func() {
				s.credentials(backend, &backend.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonWaitingForCredentials)
			},
			then: func() {
				s.awaitCondition(v1alpha1.ConditionBackendsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackends)
				s.collect("cinder-volume-rbd-a")
			},
			undone: func() {
				s.credentials(backend, &backend.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
			}},
		{kind: "CinderBackupBackend",
			happens: func() {
				s.credentials(backup, &backup.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonWaitingForCredentials)
			},
			then: func() {
				s.awaitCondition(v1alpha1.ConditionBackupBackendReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBackupBackend)
				s.collect("cinder-backup")
			},
			undone: func() {
				s.credentials(backup, &backup.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
			}},

		sql(projection.MariaDBDatabase), sql(projection.MariaDBUser), sql(projection.MariaDBGrant),
		{kind: "HTTPRoute", condition: v1alpha1.ConditionHTTPRouteReady, reason: v1alpha1.ReasonHTTPRouteNotAccepted,
			happens: func() { s.answerRoute(metav1.ConditionFalse) }, undone: func() { s.answerRoute(metav1.ConditionTrue) }},
		{kind: "Deployment", condition: v1alpha1.ConditionDeploymentReady, reason: v1alpha1.ReasonWaitingForDeployment,
			happens: func() { s.available(cinderName, 0) }, undone: func() { s.available(cinderName, 3) }},
		{kind: "Job", condition: v1alpha1.ConditionDatabaseReady, reason: v1alpha1.ReasonDatabaseSynced,
			first: func() {
				s.update(func(cr *v1alpha1.Cinder) { cr.Spec.Image.Tag = "2026.1-p1" })
				s.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionFalse, v1alpha1.ReasonDBSyncInProgress)
			},
			happens: func() { s.endNextJob("cinder-db-sync") },
			then: func() {
				s.awaitCondition(v1alpha1.ConditionDatabaseReady, metav1.ConditionTrue, v1alpha1.ReasonDatabaseSynced)
			}},

		s.remade(&policyv1.PodDisruptionBudget{}, cinderName),
		s.remade(&autoscalingv2.HorizontalPodAutoscaler{}, cinderName),
		s.remade(&corev1.Service{}, cinderName),
		s.remade(&networkingv1.NetworkPolicy{}, cinderName),
		s.remade(&batchv1.CronJob{}, "cinder-db-purge"),
		s.remade(&corev1.Secret{}, "cinder-db-connection"),
		s.remade(s.objectOf(projection.VerticalPodAutoscaler, "cinder-scheduler"), "cinder-scheduler"),
		s.config(),

		{kind: "Cluster", what: "registration", not: "hub", condition: v1alpha1.ConditionSecretsReady, reason: v1alpha1.ReasonTargetClusterUnavailable,
			happens: func() {
				s.remove(s.hub, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.target, Namespace: s.registrations}})
			},
			undone: s.registerStill},
	}
	return legs
}

// remade is a child that is made anew when it is deleted.
func (s *still) remade(obj client.Object, name string) leg {
	gvk, err := apiutil.GVKForObject(obj, suite.scheme)
	if err != nil {
		s.Fatal(err)
	}
	was := obj.GetUID()
	return leg{kind: gvk.Kind, what: "child",
		happens: func() {
			s.awaitChild(obj, name)
			was = obj.GetUID()
			s.remove(s.children, obj)
		},
		then: func() {
			s.eventually(fmt.Sprintf("another %s %s", gvk.Kind, name), func(ctx context.Context) error {
				if err := s.children.Get(ctx, client.ObjectKey{Namespace: s.ns, Name: name}, obj); err != nil {
					return err
				}
				if obj.GetUID() == was {
					return errors.New("it is still the former one")
				}
				return nil
			})
		}}
}

// config is the ConfigMap of the configuration, whose name ends in a hash.
func (s *still) config() leg {
	name := ""
	l := s.remade(&corev1.ConfigMap{}, "")
	var again leg
	l.happens = func() {
		var d appsv1.Deployment
		s.awaitChild(&d, cinderName)
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.ConfigMap != nil {
				name = v.ConfigMap.Name
			}
		}
		again = s.remade(&corev1.ConfigMap{}, name)
		again.happens()
	}
	l.then = func() { again.then() }
	return l
}

// rotated is the key of a satellite, which the pods are given anew.
func (s *still) rotated(secret, deployment string) leg {
	return leg{kind: "Secret", what: "read, " + secret,
		happens: func() { s.setSecret(secret, "userKey", cephKey(secret+" rotated")) },
		then: func() {
			s.eventually("the new key of "+secret, func(context.Context) error {
				files, err := s.cephFiles(deployment)
				if err != nil {
					return err
				}
				for _, content := range files {
					if strings.Contains(content, cephKey(secret+" rotated")) {
						return nil
					}
				}
				return errors.New("the pods have another")
			})
		}}
}

// announced is the ExternalSecret of a Secret that is missing.
func (s *still) announced() leg {
	return leg{kind: "ExternalSecret", not: "target",
		first: func() {
			s.remove(s.children, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "db"}})
			s.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDBCredentials, "does not exist")
		},
		happens: func() { s.object(externalSecretKind, "db", externalSecretOf("db")) },
		then: func() {
			s.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDBCredentials, "ExternalSecret "+s.ns+"/db")
		},
		undone: func() { s.secret("db", map[string]string{"password": "secret"}) }}
}

func (s *still) policies(text string) {
	s.Helper()
	s.eventually("change the policies", func(ctx context.Context) error {
		var m corev1.ConfigMap
		if err := s.children.Get(ctx, client.ObjectKey{Namespace: s.ns, Name: "policies"}, &m); err != nil {
			return err
		}
		m.Data = map[string]string{"policy.yaml": text}
		return s.children.Update(ctx, &m)
	})
}

// available plays the Deployment controller: so many pods serve.
func (s *still) available(name string, n int32) {
	s.Helper()
	s.eventually("the status of Deployment "+name, func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := s.children.Get(ctx, client.ObjectKey{Namespace: s.ns, Name: name}, &d); err != nil {
			return err
		}
		d.Status.AvailableReplicas, d.Status.ReadyReplicas = min(n, d.Status.Replicas), min(n, d.Status.Replicas)
		return s.children.Status().Update(ctx, &d)
	})
}

func (s *still) remove(c client.Client, obj client.Object) {
	s.Helper()
	if err := c.Delete(s.Context(), obj, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil && !apierrors.IsNotFound(err) {
		s.Fatalf("delete %T %s: %v", obj, obj.GetName(), err)
	}
}

// Every interval of this operator is an hour, and nothing else happens when the
// object of a leg changes: the event alone moves the Cinder, there and back.
func TestEveryWatchMovesTheCinderByItsEventAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		where, target string
		everywhere    bool
	}{
		"children on the hub": {where: "hub"},
		"children on the hub, of an operator of every namespace": {where: "hub", everywhere: true},
		"children on the target":                                 {where: "target", target: "edge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stillOn(t, c.target, c.everywhere)
			legs := s.legs()
			everyKindHasALeg(t, legs, c.where)
			for _, l := range legs {
				if l.not != c.where && l.everywhere == c.everywhere {
					s.walk(l)
				}
			}
		})
	}
}

func (s *still) walk(l leg) {
	s.Helper()
	s.Logf("leg %s %s", l.kind, l.what)
	if l.first != nil {
		l.first()
	}
	s.rest()
	l.happens()
	if l.then != nil {
		l.then()
	} else {
		s.awaitCondition(l.condition, metav1.ConditionFalse, l.reason)
	}
	if l.undone != nil {
		s.rest()
		l.undone()
	}
	s.awaitReady()
}

// elsewhere are the kinds whose legs another test walks, with its name.
var elsewhere = map[string]string{
	"ClusterSecretStore on the target": "TestTheDefaultSecretStoreCountsWhereStoresAreServed",
	"SecretStore on the target":        "TestASecretStoreHasToBeReadyBeforeCredentialsAreAwaited",
	"ExternalSecret on the target":     "TestASecretStoreHasToBeReadyBeforeCredentialsAreAwaited",
}

// everyKindHasALeg fails for a kind that the operator watches and no leg is of.
func everyKindHasALeg(t *testing.T, legs []leg, where string) {
	t.Helper()
	watched := cinder.References("")
	for _, kind := range projection.Kinds() {
		gvk, err := apiutil.GVKForObject(kind.Object, suite.scheme)
		if err != nil {
			t.Fatal(err)
		}
		watched = append(watched, gvk)
	}
	for _, gvk := range watched {
		has := slices.ContainsFunc(legs, func(l leg) bool {
			return l.kind == gvk.Kind && l.not != where && l.what != "read" && !strings.HasPrefix(l.what, "read,")
		})
		if !has && elsewhere[gvk.Kind+" on the "+where] == "" {
			t.Errorf("no leg walks the watch of %s on the %s", gvk.Kind, where)
		}
	}
}
