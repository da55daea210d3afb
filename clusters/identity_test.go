// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func systemUID(t *testing.T, c client.Client) types.UID {
	t.Helper()
	ns := &corev1.Namespace{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, ns); err != nil {
		t.Fatal(err)
	}
	return ns.UID
}

func TestAnotherClusterBehindTheSameAddressIsAnotherTarget(t *testing.T) {
	// The probe that notices is the one that the new socket asks for.
	f := newFleet(t, func(o *Options) { o.DiscoverEvery = 1_000_000 })
	r := newRelay(t, targetConfig)
	ns := newNamespace(t, targetAdmin)
	there := child(t, ns, "there")
	both := slices.Concat(bytes.TrimSpace(targetConfig.CAData), []byte("\n"), hubConfig.CAData)
	f.register("edge", kubeconfig(t, targetConfig, r.url(), withToken(sharedToken), func(c, _ fields) {
		c["certificate-authority-data"] = encode(both)
	}))
	was := f.connected("edge")
	if was.UID() != systemUID(t, targetAdmin) {
		t.Fatalf("UID %q", was.UID())
	}
	if err := was.Client().Get(t.Context(), client.ObjectKeyFromObject(there), &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}

	r.lead(hubConfig)
	r.cut()
	eventually(t, 20*time.Second, func(context.Context) error {
		now, err := f.resolve("edge", "default")
		if err != nil {
			return err
		}
		if now == was {
			return errNotYet
		}
		if now.UID() != systemUID(t, hubAdmin) {
			t.Fatalf("UID %q of the cluster that answers now", now.UID())
		}
		if err := now.Client().Get(t.Context(), client.ObjectKeyFromObject(there), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("a child of the former cluster is read from this one: %v", err)
		}
		return nil
	})
	err := was.Client().Create(t.Context(), &corev1.ConfigMap{})
	if _, ok := AsUnavailable(err); !ok {
		t.Errorf("a write over the former connection: %v", err)
	}
}

func TestAClusterStaysTheSameWhenItsIdentityMayBeRead(t *testing.T) {
	f := newFleet(t)
	sa, role := limited(t, childRules)
	config := kubeconfig(t, targetConfig, "", withToken(tokenOf(t, sa)))
	f.register("edge", config)
	target := f.connected("edge")
	before := target.UID()
	role.Rules = append(slices.Clone(childRules), rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"},
	})
	if err := targetAdmin.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	f.register("edge", config, map[string]string{"namespaces": "default"}) // a new connection
	eventually(t, 10*time.Second, func(context.Context) error {
		now, err := f.resolve("edge", "default")
		if err == nil && now == target {
			err = errNotYet
		}
		if err != nil {
			return err
		}
		target = now
		return nil
	})
	if target.UID() != systemUID(t, targetAdmin) || before == target.UID() {
		t.Errorf("UID %q, before %q", target.UID(), before)
	}
	for uid, want := range map[types.UID]bool{before: true, target.UID(): true, systemUID(t, hubAdmin): false, "": false} {
		if SameCluster(target, uid) != want {
			t.Errorf("it is the cluster %q: %t", uid, !want)
		}
	}
	if SameCluster(f.Hub(), before) {
		t.Error("the hub is taken for the target")
	}
}

func TestAttemptsGivenUpWhileTheySynchroniseLeaveNothingBehind(t *testing.T) {
	f := newFleet(t)
	lists := []string{"default,kube-system", "default,kube-public"}
	config := kubeconfig(t, targetConfig, "")
	f.register("edge", config, map[string]string{"namespaces": lists[0]})
	f.settled(f.connected("edge"))
	before := runtime.NumGoroutine()
	for i := 1; i <= 12; i++ {
		sent := f.requests("edge", "200")
		f.register("edge", config, map[string]string{"namespaces": lists[i%2]})
		// The next attempt has begun, and is given up wherever it is.
		eventually(t, 10*time.Second, func(context.Context) error {
			if f.requests("edge", "200") < sent+float64(i) {
				return errNotYet
			}
			return nil
		})
	}
	f.settled(f.connected("edge"))
	eventually(t, 20*time.Second, func(context.Context) error {
		if now := runtime.NumGoroutine(); now > before+2 {
			return fmt.Errorf("%d goroutines, before %d", now, before)
		}
		return nil
	})
}
