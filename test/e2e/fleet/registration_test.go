// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

func unavailable(message string) harness.Want {
	return harness.Want{Type: v1alpha1.ConditionSecretsReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTargetClusterUnavailable, Message: message}
}

func mirror(name string) *v1alpha1.TargetCluster {
	return &v1alpha1.TargetCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ClustersNamespace}}
}

func TestACinderAppliedBeforeItsTargetIsRegisteredWaitsAndIsServedWhenItIs(t *testing.T) {
	edge := lab.Targets["edge-1"]
	ns := lab.Namespace(t, "before", edge)
	lab.StartOperator(t, quick...)
	cinder := harness.Cinder(ns, "cinder", "edge-1")
	backend, _ := lab.Deploy(t, cinder)

	lab.WaitFor(t, 20*time.Second, cinder,
		unavailable(`target cluster "edge-1" is not registered in namespace "c5c3-clusters"`),
		harness.Want{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse},
		harness.Want{Type: v1alpha1.ConditionDeploymentReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending},
	)
	lab.WaitFor(t, 20*time.Second, backend, harness.Want{Type: v1alpha1.ConditionCredentialsReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTargetClusterUnavailable})
	if len(cinder.Finalizers) > 0 {
		t.Errorf("a Cinder that never resolved carries %v", cinder.Finalizers)
	}
	for _, c := range []*harness.Cluster{lab.Hub, edge} {
		if have, err := c.Children(t.Context(), cinder); err != nil || len(have) > 0 {
			t.Errorf("%s has %v (%v)", c.Name, have, err)
		}
	}

	lab.Register(t, "edge-1", edge)
	registered := time.Now()
	lab.WaitReady(t, harness.ReadyTimeout, cinder)
	t.Logf("Ready %s after the registration", time.Since(registered).Round(time.Millisecond))
	lab.WaitReady(t, 10*time.Second, mirror("edge-1"))
}

func TestTakingTheLabelOffOrDeletingTheSecretDeregistersAndTouchesNoChild(t *testing.T) {
	edge := lab.Targets["edge-1"]
	ns := lab.Namespace(t, "deregister", edge)
	lab.StartOperator(t, quick...)
	reg := lab.Register(t, "edge-1", edge)
	cinder := harness.Cinder(ns, "cinder", "edge-1")
	lab.Deploy(t, cinder)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)
	before, err := edge.Children(t.Context(), cinder)
	if err != nil {
		t.Fatal(err)
	}

	suite := t
	for name, deregister := range map[string]func(t *testing.T){
		"label removed": func(t *testing.T) {
			harness.Change(t, lab.Hub, reg, func(s *corev1.Secret) { delete(s.Labels, v1alpha1.LabelKubeconfig) })
		},
		"label of another value": func(t *testing.T) {
			harness.Change(t, lab.Hub, reg, func(s *corev1.Secret) { s.Labels[v1alpha1.LabelKubeconfig] = "false" })
		},
		"Secret deleted": func(t *testing.T) { lab.Hub.Delete(t, reg) },
	} {
		t.Run(name, func(t *testing.T) {
			mark := edge.Mark(t)
			deregister(t)
			lab.WaitFor(t, 20*time.Second, cinder,
				unavailable(`target cluster "edge-1" is not registered in namespace "c5c3-clusters"`),
				harness.Want{Type: v1alpha1.ConditionDeploymentReady, Status: metav1.ConditionTrue}, // as last seen
			)
			lab.Hub.WaitGone(t, 10*time.Second, mirror("edge-1"))
			if after, err := edge.Children(t.Context(), cinder); err != nil || strings.Join(after, " ") != strings.Join(before, " ") {
				t.Errorf("children were %v, are %v (%v)", before, after, err)
			}
			if w := mark.Writes(t); len(w) > 0 {
				t.Errorf("%d writes on the target, the first is %s %s", len(w), w[0].Verb, w[0].RequestURI)
			}

			lab.Remove(t, reg)
			reg = lab.Register(suite, "edge-1", edge)
			lab.WaitReady(t, 20*time.Second, cinder)
			lab.WaitReady(t, 10*time.Second, mirror("edge-1"))
		})
	}
}

func TestAReplacedKubeconfigReconnectsWithoutTouchingAChild(t *testing.T) {
	edge := lab.Targets["edge-1"]
	ns := lab.Namespace(t, "replaced", edge)
	lab.StartOperator(t, quick...)
	reg := lab.Register(t, "edge-1", edge)
	cinder := harness.Cinder(ns, "cinder", "edge-1")
	lab.Deploy(t, cinder)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)
	before, err := edge.Children(t.Context(), cinder)
	if err != nil {
		t.Fatal(err)
	}

	token := lab.Path("replaced.kubeconfig")
	lab.Run(t, "account", "edge-1", "--namespace", harness.SystemNamespace, "--service-account", "cinder-operator", "--token-secret", "second", "--out", token)
	second, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := clientcmd.Load(second)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range elsewhere.Clusters {
		c.Server = "https://127.0.0.1:1"
	}
	broken, err := clientcmd.Write(*elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	set := func(kubeconfig []byte) {
		harness.Change(t, lab.Hub, reg, func(s *corev1.Secret) { s.Data[v1alpha1.RegistrationKeyKubeconfig] = kubeconfig })
	}

	mark := edge.Mark(t)
	set(second)
	lab.HoldsFor(t, 5*time.Second, cinder, harness.Want{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue})
	lab.WaitReady(t, 10*time.Second, mirror("edge-1"))

	set(broken)
	lab.WaitFor(t, 30*time.Second, cinder, unavailable(`target cluster "edge-1" is `))
	lab.WaitFor(t, 10*time.Second, mirror("edge-1"), harness.Want{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse})

	set([]byte("no: kubeconfig"))
	lab.WaitFor(t, 30*time.Second, cinder, unavailable(`target cluster "edge-1" is refused: KubeconfigInvalid`))

	set(second)
	lab.WaitReady(t, 20*time.Second, cinder)
	if after, err := edge.Children(t.Context(), cinder); err != nil || strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("children were %v, are %v (%v)", before, after, err)
	}
	if w := mark.Writes(t); len(w) > 0 {
		t.Errorf("%d writes on the target, the first is %s %s", len(w), w[0].Verb, w[0].RequestURI)
	}

	t.Run("and drift is still repaired over the new connection", func(t *testing.T) {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cinder"}}
		edge.Delete(t, s.DeepCopy())
		harness.Eventually(t, 5*time.Second, "the Service", func(ctx context.Context) error {
			return edge.Client.Get(ctx, keyOf(s), s)
		})
	})
}

func TestWhoMayUseATargetAndWhereIsSaidOnTheCinder(t *testing.T) {
	edge := lab.Targets["edge-2"]
	ns := lab.Namespace(t, "uses", edge)
	lab.StartOperator(t, quick...)
	cinder := harness.Cinder(ns, "cinder", "edge-2")
	lab.Deploy(t, cinder)
	for _, tc := range []struct {
		key, value, message string
	}{
		{v1alpha1.RegistrationKeyAllowedNamespaces, "others, more", `target cluster "edge-2" does not admit Cinders of namespace "uses"`},
		{v1alpha1.RegistrationKeyNamespaces, "others", `"uses"`},
		{v1alpha1.RegistrationKeyNamespaces, "", `target cluster "edge-2" is refused: NamespacesInvalid`},
		{v1alpha1.RegistrationKeyNamespaces, "No_Label", `target cluster "edge-2" is refused: NamespacesInvalid`},
	} {
		t.Run(fmt.Sprintf("%s=%q", tc.key, tc.value), func(t *testing.T) {
			lab.Register(t, "edge-2", edge, func(s *corev1.Secret) { s.Data[tc.key] = []byte(tc.value) })
			lab.WaitFor(t, 30*time.Second, cinder, unavailable(tc.message))
			if have, err := edge.Children(t.Context(), cinder); err != nil || len(have) > 0 {
				t.Errorf("edge-2 has %v (%v)", have, err)
			}
		})
	}
	t.Run("all of them", func(t *testing.T) {
		lab.Register(t, "edge-2", edge, func(s *corev1.Secret) {
			s.Data[v1alpha1.RegistrationKeyAllowedNamespaces] = []byte("*")
			s.Data[v1alpha1.RegistrationKeyNamespaces] = []byte("uses, default")
		})
		lab.WaitReady(t, harness.ReadyTimeout, cinder)
		lab.Hub.Delete(t, cinder)
		lab.Hub.WaitGone(t, 30*time.Second, cinder)
	})
	t.Run("a namespace that the target lacks", func(t *testing.T) {
		lab.Register(t, "edge-2", edge)
		hubOnly := lab.Namespace(t, "hub-only")
		stray := harness.Cinder(hubOnly, "cinder", "edge-2")
		lab.Deploy(t, stray)
		lab.WaitFor(t, 30*time.Second, stray, unavailable(`namespace "hub-only" does not exist on target cluster "edge-2"`))
		if len(stray.Finalizers) > 0 {
			t.Errorf("a Cinder without a namespace on its target carries %v", stray.Finalizers)
		}
		if err := edge.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hubOnly}}); err != nil {
			t.Fatal(err)
		}
		harness.CredentialSecrets(t, edge, hubOnly)
		lab.WaitReady(t, harness.ReadyTimeout, stray)
	})
}
