// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package identity shows that clusters and hubs are told apart by what they are,
// not by what they are called.
package identity

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var lab *harness.Lab

// edge-1 and edge-2 are targets; edge-3 becomes another hub.
func TestMain(m *testing.M) { os.Exit(harness.Main(m, harness.Options{Targets: 3}, &lab)) }

var quick = append(harness.QuickProbes(), "--connect-grace=3s")

func keyOf(obj client.Object) client.ObjectKey { return client.ObjectKeyFromObject(obj) }

func unavailable(message string) harness.Want {
	return harness.Want{Type: v1alpha1.ConditionSecretsReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTargetClusterUnavailable, Message: message}
}

func annotate(t testing.TB, hub *harness.Cluster, cr *v1alpha1.Cinder, key, value string) {
	t.Helper()
	harness.Change(t, hub, cr, func(c *v1alpha1.Cinder) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[key] = value
	})
}

func children(t testing.TB, c *harness.Cluster, cr *v1alpha1.Cinder) map[string]types.UID {
	t.Helper()
	have, err := c.ChildUIDs(t.Context(), keyOf(cr))
	if err != nil {
		t.Fatal(err)
	}
	return have
}

// same finds the children that were there before, each the very object it was.
func same(t testing.TB, c *harness.Cluster, cr *v1alpha1.Cinder, before map[string]types.UID) {
	t.Helper()
	if now := children(t, c, cr); !maps.Equal(now, before) {
		t.Errorf("the children on %s were %v, are %v", c.Name, before, now)
	}
}

// pointTo puts the operator's account on another cluster under a known name.
func pointTo(t testing.TB, registration *corev1.Secret, c *harness.Cluster) {
	t.Helper()
	kubeconfig, err := os.ReadFile(c.AccountKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	harness.Change(t, lab.Hub, registration, func(s *corev1.Secret) { s.Data[v1alpha1.RegistrationKeyKubeconfig] = kubeconfig })
}

// abandonments are the notes of the warnings about children that stay behind.
func abandonments(t testing.TB, hub *harness.Cluster, cr *v1alpha1.Cinder) []string {
	t.Helper()
	told, err := hub.Told(context.WithoutCancel(t.Context()), cr.Namespace, cr.UID)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for what, times := range told {
		note, ours := strings.CutPrefix(what, "RemoteChildrenAbandoned: ")
		for range times {
			if ours {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// deploy brings a Cinder with its satellites on a hub to Ready.
func deploy(t *testing.T, hub *harness.Lab, cr *v1alpha1.Cinder) *v1alpha1.Cinder {
	t.Helper()
	hub.Deploy(t, cr)
	hub.WaitReady(t, 2*harness.ReadyTimeout, cr)
	return cr
}

// holdFor is long enough for several passes and probes.
const holdFor = 4 * time.Second
