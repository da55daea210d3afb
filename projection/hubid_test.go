// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/projection"
)

// as is a client of a user of the given name, who may do nothing but what was
// granted to that name.
func as(t *testing.T, user string) client.Client {
	t.Helper()
	cfg := rest.CopyConfig(apiServer)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheHubsIdentityIsTheUIDOfKubeSystem(t *testing.T) {
	f := onHub(t)
	ns := &corev1.Namespace{}
	if err := f.admin.Get(f.ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns); err != nil {
		t.Fatal(err)
	}
	got, err := projection.HubID(f.ctx, f.target.live, "")
	if err != nil || got != string(ns.UID) {
		t.Errorf("got %q, %v, want %q", got, err, ns.UID)
	}
}

func TestTheFlagGivesARebuiltHubItsOldIdentity(t *testing.T) {
	f := onHub(t)
	got, err := projection.HubID(f.ctx, f.target.live, "the-old-one")
	if err != nil || got != "the-old-one" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAHubThatMayNotReadKubeSystemTakesTheFlag(t *testing.T) {
	f := onHub(t)
	reader := as(t, "nobody")
	if got, err := projection.HubID(f.ctx, reader, hubA); err != nil || got != hubA {
		t.Errorf("with the flag: got %q, %v", got, err)
	}
	_, err := projection.HubID(f.ctx, reader, "")
	if err == nil || !strings.Contains(err.Error(), "kube-system") || !strings.Contains(err.Error(), "--hub-id") {
		t.Errorf("without the flag: got %v", err)
	}
}

func TestAReaderOfKubeSystemsMetadataIsEnough(t *testing.T) {
	f := onHub(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: f.ns}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"}}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: f.ns},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: f.ns},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: f.ns}}}
	f.create(role)
	f.create(binding)
	f.eventually("the role takes effect", func() (bool, error) {
		id, err := projection.HubID(f.ctx, as(t, f.ns), "")
		return err == nil && id != "", nil
	})
}

func TestAFlagThatIsNoLabelValueIsRefused(t *testing.T) {
	for _, flag := range []string{"not a label", strings.Repeat("x", 64)} {
		if got, err := projection.HubID(context.Background(), nil, flag); err == nil {
			t.Errorf("%q became %q", flag, got)
		}
	}
}
