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
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func managedBus(cr *v1alpha1.Cinder) {
	cr.Spec.Messaging = v1alpha1.MessagingSpec{
		ClusterRef: &v1alpha1.ClusterRefSpec{Name: "rabbit"},
		TLS:        &v1alpha1.MessagingTLSSpec{CABundleSecretRef: v1alpha1.SecretRefSpec{Name: "rabbit-ca"}},
	}
}

// defaultUser reports the Secret of a broker's default user.
func (f *fixture) defaultUser(secret, namespace string) {
	f.Helper()
	f.status(rabbitMQKind, "rabbit", fields{
		"conditions":  []any{},
		"defaultUser": fields{"secretReference": fields{"name": secret, "namespace": namespace, "keys": fields{"username": "username", "password": "password"}}},
	})
}

// Nothing polls here: each piece is noticed by its own event, and until the last
// one is there nothing is written.
func TestAManagedBusIsUsedOnceEveryPieceIsThere(t *testing.T) {
	t.Parallel()
	everywhere(t, func(f *fixture) {
		f.secret("db", map[string]string{"username": "cinder", "password": "secret"})
		f.cinder(managedBus, func(cr *v1alpha1.Cinder) {
			cr.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{}}}
		})
		const secret = "rabbit-default-user"
		for _, step := range []struct {
			says []string
			then func()
		}{
			{[]string{"RabbitmqCluster " + f.ns + "/rabbit does not exist"}, func() { f.object(rabbitMQKind, "rabbit", fields{"replicas": int64(1)}) }},
			{[]string{"names no Secret of its default user yet"}, func() { f.defaultUser(secret, "elsewhere") }},
			{[]string{"namespace elsewhere"}, func() { f.defaultUser(secret, f.ns) }},
			{[]string{"Secret " + f.ns + "/" + secret, "does not exist"}, func() { f.secret(secret, map[string]string{"username": "default_user", "password": "hun/ter"}) }},
			{[]string{secret, `"host"`}, func() { f.setSecret(secret, "host", "rabbit."+f.ns+".svc") }},
			{[]string{secret, `"port"`}, func() { f.setSecret(secret, "port", "amqps") }},
			{[]string{secret, "no port from 1 to 65535"}, func() { f.setSecret(secret, "port", "5671") }},
			{[]string{secret, `a "/"`}, func() { f.setSecret(secret, "password", "hunter$2") }},
		} {
			f.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForMessagingCredentials, step.says...)
			if message := meta.FindStatusCondition(f.get().Status.Conditions, v1alpha1.ConditionSecretsReady).Message; strings.Contains(message, "hun") {
				f.Fatalf("the message carries a password: %s", message)
			}
			f.absent(&corev1.Secret{}, "cinder-transport-url")
			step.then()
		}
		f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
		url := func(password string) string {
			return "rabbit://default_user:" + password + "@rabbit." + f.ns + ".svc:5671/"
		}
		if got := f.secretValue("cinder-transport-url", "transport_url"); got != url("hunter%242") {
			f.Errorf("the transport URL is %q", got)
		}
		f.endJob("cinder-db-sync", true)
		var scheduler appsv1.Deployment
		f.awaitChild(&scheduler, "cinder-scheduler")
		container := scheduler.Spec.Template.Spec.Containers[0]
		port, ca := "", false
		for _, e := range container.Env {
			if e.Name == "CINDER_AMQP_PORT" {
				port = e.Value
			}
		}
		for _, m := range container.VolumeMounts {
			ca = ca || strings.TrimSuffix(m.MountPath, "/") == "/etc/rabbitmq-ca"
		}
		if port != "5671" || !ca {
			f.Errorf("the probed port is %q, the broker's CA is mounted: %t", port, ca)
		}

		f.rollUntil(func(*v1alpha1.Cinder) error {
			var policy networkingv1.NetworkPolicy
			if err := f.children.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: cinderName}, &policy); err != nil {
				return err
			}
			// DNS, database and memcached come before the broker.
			if broker := policy.Spec.Egress[3].Ports; len(broker) != 1 || broker[0].Port.IntValue() != 5671 {
				f.Errorf("the policy opens %v to the broker", broker)
			}
			return nil
		})

		// A rotation of the broker's own user rolls what carries it.
		const digest = "cinder.c5c3.io/transport-url-hash"
		before := scheduler.Spec.Template.Annotations[digest]
		f.setSecret(secret, "password", "rotated")
		f.eventually("the rotated password", func(context.Context) error {
			return contains(f.secretValue("cinder-transport-url", "transport_url"), url("rotated"))
		})
		f.eventually("the scheduler to roll", func(ctx context.Context) error {
			f.awaitChild(&scheduler, "cinder-scheduler")
			if scheduler.Spec.Template.Annotations[digest] == before {
				return fmt.Errorf("its digest is still %s", before)
			}
			return nil
		})

		// What was written stays while the broker is away.
		if err := f.children.Delete(f.Context(), f.objectOf(rabbitMQKind, "rabbit")); err != nil {
			f.Fatal(err)
		}
		f.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForMessagingCredentials, "does not exist")
		if got := f.secretValue("cinder-transport-url", "transport_url"); got != url("rotated") {
			f.Errorf("the transport URL is now %q", got)
		}
	})
}

func TestCindersOnOneVirtualHostAreWarned(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(*testing.T) *fixture{
		"on the hub":  onHub,
		"on a target": func(t *testing.T) *fixture { f := onTarget(t); f.register("edge"); return f },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := place(t), place(t)
			vhost := one.ns
			for f, url := range map[*fixture]string{
				one:   "rabbit://one:secret@rabbit.openstack.svc:5671/" + vhost,
				other: "rabbit://other:secret@mirror.openstack.svc,other:secret@RABBIT.openstack.svc.cluster.local/" + vhost,
			} {
				f.secret("db", map[string]string{"username": "cinder", "password": "secret"})
				f.secret("bus", map[string]string{"transport_url": url})
				f.cinder()
			}
			for f, neighbour := range map[*fixture]*fixture{one: other, other: one} {
				f.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable, "virtual host", neighbour.ns+"/cinder")
				if err := contains(f.awaitEvent("SharedBrokerVhost"), neighbour.ns+"/cinder"); err != nil {
					t.Error(err)
				}
			}
			// Readiness is unaffected.
			one.endJob("cinder-db-sync", true)
			one.backend("nfs-a")
			one.awaitReady()

			other.setSecret("bus", "transport_url", "rabbit://other:secret@rabbit.openstack.svc/"+other.ns+"-own")
			for _, f := range []*fixture{one, other} {
				f.eventually("the message to go", func(context.Context) error {
					message := f.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
					if strings.Contains(message, "virtual host") {
						return fmt.Errorf("it is %q", message)
					}
					return nil
				})
				var list eventsv1.EventList
				if err := suite.hub.List(t.Context(), &list, client.InNamespace(f.ns)); err != nil {
					t.Fatal(err)
				}
				given := 0
				for i := range list.Items {
					if list.Items[i].Reason == "SharedBrokerVhost" {
						given++
						if list.Items[i].Series != nil {
							given += int(list.Items[i].Series.Count) - 1
						}
					}
				}
				if given != 1 {
					t.Errorf("the warning was given %d times", given)
				}
			}
			// A neighbour that is deleted is none anymore.
			other.setSecret("bus", "transport_url", "rabbit://other:secret@rabbit.openstack.svc/"+vhost)
			one.awaitSays(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable, "virtual host")
			other.removeCinder()
			if other.target == "" {
				// No garbage collector runs here.
				if err := suite.hub.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: other.ns, Name: "cinder-transport-url"}}); err != nil {
					t.Fatal(err)
				}
			}
			one.eventually("the message to go", func(context.Context) error {
				message := one.awaitCondition(v1alpha1.ConditionSecretsReady, metav1.ConditionTrue, v1alpha1.ReasonSecretsAvailable)
				if strings.Contains(message, "virtual host") {
					return fmt.Errorf("it is %q", message)
				}
				return nil
			})
		})
	}
}
