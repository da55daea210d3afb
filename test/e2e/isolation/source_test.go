// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// The hub answers everything but what the registrations are read by.
func TestRegistrationsThatTheHubHoldsBackDelayNoOtherCinder(t *testing.T) {
	edge := lab.Targets["edge-1"]
	ns := lab.Namespace(t, "held-back", edge)
	harness.CredentialSecrets(t, lab.Hub, ns)
	proxy := lab.Hub.Proxy(t)
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	proxy.Override(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/namespaces/"+harness.ClustersNamespace+"/secrets" {
			return false
		}
		select {
		case <-released:
			return false
		default:
		}
		select {
		case <-released:
		case <-r.Context().Done():
		}
		return true
	})
	kubeconfig := lab.Path("held-back.kubeconfig")
	if err := os.WriteFile(kubeconfig, proxy.Kubeconfig(t), 0o600); err != nil {
		t.Fatal(err)
	}
	lab.Register(t, "held-back", edge)
	lab.StartOperator(t, append([]string{"--kubeconfig", kubeconfig, "--connect-grace=3s"}, quick...)...)

	local, remote := harness.Cinder(ns, "local", ""), harness.Cinder(ns, "remote", "held-back")
	began := time.Now()
	lab.Deploy(t, remote)
	lab.Deploy(t, local)
	lab.WaitReady(t, harness.ReadyTimeout, local)
	t.Logf("the Cinder of the hub is Ready after %s", time.Since(began).Round(time.Millisecond))
	lab.WaitFor(t, harness.ReadyTimeout, remote, harness.Want{
		Type: v1alpha1.ConditionSecretsReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTargetClusterUnavailable,
		Message: `target cluster "held-back" is connecting: the registrations are being read; if that lasts, the operator's log says why`,
	})
	if len(remote.Finalizers) != 0 {
		t.Errorf("it carries %v", remote.Finalizers)
	}

	release()
	// A watch that was held for long is begun again after a pause.
	lab.WaitReady(t, 2*harness.ReadyTimeout, remote)
}
