// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestAnOutageHasOneTimeAndOneMessage(t *testing.T) {
	for name, strike := range map[string]func(*relay){
		"a server that is silent": func(r *relay) { r.silence(true) },
		"a server that is gone":   func(r *relay) { r.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			// Longer from the first loss to the end than a message's time is exact.
			f := newFleet(t, func(o *Options) { o.ProbeFailures = 8 })
			r := newRelay(t, targetConfig)
			f.register("edge", kubeconfig(t, targetConfig, r.url()))
			target := f.connected("edge")
			f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
			strike(r)
			err := target.APIReader().Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
			first, ok := AsUnavailable(err)
			if !ok || first.Cause != CauseUnreachable {
				t.Fatalf("the first call: %v", err)
			}
			f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonUnreachable)
			if message := f.unavailable("edge", CauseUnreachable); message != first.Message {
				t.Errorf("given up: %q, at first %q", message, first.Message)
			}
			before := f.requests("edge", observedError)
			eventually(t, 10*time.Second, func(context.Context) error {
				if f.requests("edge", observedError) < before+2 {
					return errNotYet
				}
				return nil
			})
			if message := f.unavailable("edge", CauseUnreachable); message != first.Message {
				t.Errorf("after further attempts: %q, at first %q", message, first.Message)
			}
		})
	}
}

// blind may do everything on the hub that the registry does, but for reading Secrets.
func blind(t *testing.T) (cfg *rest.Config, grant func()) {
	t.Helper()
	name := newNamespace(t, hubAdmin)
	all := []string{"*"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "namespaces"}, Verbs: all},
		{APIGroups: []string{"apps", "apiextensions.k8s.io", "cluster.x-k8s.io", v1alpha1.GroupVersion.Group}, Resources: all, Verbs: all},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: name, APIGroup: rbacv1.GroupName}},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := hubAdmin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	cfg = rest.CopyConfig(hubConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name}
	return cfg, func() {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: all})
		if err := hubAdmin.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRegistrationsThatCannotBeReadAreNotKeptQuietFor(t *testing.T) {
	f := idleFleet(t, func(o *Options) { o.ConnectGrace = time.Second })
	cfg, grant := blind(t)
	f.hubConfig = cfg
	f.start()
	_, err := f.resolve("nobody", "default")
	if u, ok := AsUnavailable(err); !ok || u.Cause != CauseStarting {
		t.Fatalf("at the start: %v", err)
	}
	message := f.unavailable("nobody", CauseConnecting)
	if !strings.HasPrefix(message, `target cluster "nobody" is connecting: the registrations are being read`) {
		t.Errorf("message %q", message)
	}
	eventually(t, 5*time.Second, func(context.Context) error {
		if f.changed("nobody") == 0 {
			return fmt.Errorf("who waits was not told that the grace is over: %w", errNotYet)
		}
		return nil
	})
	if again := f.unavailable("nobody", CauseConnecting); again != message {
		t.Errorf("message %q, then %q", message, again)
	}
	told := f.changed("nobody")
	grant()
	eventually(t, 40*time.Second, func(context.Context) error {
		_, err := f.resolve("nobody", "default")
		if u, ok := AsUnavailable(err); !ok || u.Cause != CauseNotRegistered || f.changed("nobody") == told {
			return fmt.Errorf("told %d times: %w", f.changed("nobody")-told, err)
		}
		return nil
	})
}

func TestADeregisteredClusterIsForgottenOnceAllOfItHasEnded(t *testing.T) {
	forgotten := make(chan string, 1)
	f := newFleet(t, func(o *Options) { o.Forgotten = func(name string) { forgotten <- name } })
	secret := f.register("edge", kubeconfig(t, targetConfig, ""))
	conn, _ := f.connected("edge").(*connection)
	if err := hubAdmin.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	select {
	case name := <-forgotten:
		if name != "edge" || conn.life.Err() == nil || f.cachedObjects("edge", "ConfigMap") != -1 {
			t.Errorf("told of %q while the connection has ended: %t", name, conn.life.Err() != nil)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was told")
	}
}

func TestTheStopOfTheOperatorIsNoOutage(t *testing.T) {
	f := newFleet(t)
	f.register("edge", kubeconfig(t, targetConfig, ""))
	target := f.connected("edge")
	f.stop()
	err := target.APIReader().Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	u, ok := AsUnavailable(err)
	if !ok || u.Cause != CauseStarting {
		t.Errorf("a call that outlived the operator answers %v, want cause %s, which nobody writes down", err, CauseStarting)
	}
}
