// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

var registrationCases = []testCase{
	{"accepted", hub, (*fixture).acceptedRegistration},
	{"refused", hub, (*fixture).refusedRegistrations},
	{"lost", hub, (*fixture).lostClusters},
	{"broken", hub, (*fixture).brokenCluster},
}

// restrictedCases are for an operator that serves a namespace and no cluster on
// its own machine.
var restrictedCases = []testCase{{"restricted", hub, (*fixture).restricted}}

func mirror(name string) *v1alpha1.TargetCluster {
	return &v1alpha1.TargetCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ClustersNamespace}}
}

func of(typ string, status metav1.ConditionStatus, reason string) []row {
	return rows(targetCluster, typ, status, reason)
}

// refused are the answers about a registration that cannot be used.
func refused(reason string) []row {
	return slices.Concat(
		of(v1alpha1.ConditionAccepted, metav1.ConditionFalse, reason), of(v1alpha1.ConditionReady, metav1.ConditionFalse, reason),
		of(v1alpha1.ConditionConnected, metav1.ConditionUnknown, v1alpha1.ReasonPending), of(v1alpha1.ConditionPermitted, metav1.ConditionUnknown, v1alpha1.ReasonPending),
	)
}

func lost(status metav1.ConditionStatus, reason string) []row {
	return append(of(v1alpha1.ConditionConnected, status, reason), of(v1alpha1.ConditionReady, status, reason)...)
}

func (f *fixture) acceptedRegistration() {
	f.reaches(mirror(plain), slices.Concat(
		of(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted), of(v1alpha1.ConditionConnected, metav1.ConditionTrue, v1alpha1.ReasonConnected),
		of(v1alpha1.ConditionPermitted, metav1.ConditionTrue, v1alpha1.ReasonPermitted), of(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAllReady),
	)...)
}

// changed is the kubeconfig of the plain target's account with one thing changed.
func (f *fixture) changed(do func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	f.Helper()
	cfg, err := clientcmd.LoadFromFile(lab.Targets[plain].AccountKubeconfig())
	if err != nil {
		f.Fatal(err)
	}
	at := cfg.Contexts[cfg.CurrentContext]
	do(cfg.Clusters[at.Cluster], cfg.AuthInfos[at.AuthInfo])
	out, err := clientcmd.Write(*cfg)
	if err != nil {
		f.Fatal(err)
	}
	return out
}

func (f *fixture) refusedRegistrations() {
	for name, tc := range map[string]struct {
		reason string
		change func(*corev1.Secret)
	}{
		"missing": {v1alpha1.ReasonKubeconfigMissing, func(s *corev1.Secret) { s.Data = nil }},
		"invalid": {v1alpha1.ReasonKubeconfigInvalid, harness.With([]byte("no: kubeconfig"))},
		"plugin": {v1alpha1.ReasonCredentialPluginRefused, harness.With(f.changed(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Token, u.Exec = "", &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: "true", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
		}))},
		"file": {v1alpha1.ReasonFileReferenceRefused, harness.With(f.changed(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.TokenFile = "/token" }))},
		"insecure": {v1alpha1.ReasonInsecureKubeconfig, harness.With(f.changed(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = strings.Replace(c.Server, "https:", "http:", 1)
		}))},
		"spaces": {v1alpha1.ReasonNamespacesInvalid, func(s *corev1.Secret) { s.Data[v1alpha1.RegistrationKeyNamespaces] = nil }},
	} {
		lab.Register(f, name, lab.Targets[plain], tc.change)
		f.reaches(mirror(name), refused(tc.reason)...)
	}
}

// lostClusters do not answer or do not know the token.
func (f *fixture) lostClusters() {
	lab.Register(f, "hole", lab.Targets[plain], harness.With(harness.Hole(f, "tls")))
	lab.Register(f, "token", lab.Targets[plain], harness.With(f.changed(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Token = "meaningless" })))
	f.reaches(mirror("token"), lost(metav1.ConditionFalse, v1alpha1.ReasonUnauthorized)...)
	f.reaches(mirror("hole"), lost(metav1.ConditionFalse, v1alpha1.ReasonUnreachable)...)
}

// brokenCluster fails to answer for one kind of children. The operator gives the first
// synchronisation of its caches a minute, so this case ends after the others.
func (f *fixture) brokenCluster() {
	proxy := lab.Targets[plain].Proxy(f)
	proxy.Override(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/deployments") {
			return false
		}
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	lab.Register(f, "broken", lab.Targets[plain], harness.With(proxy.Kubeconfig(f)))
	f.reaches(mirror("broken"), lost(metav1.ConditionUnknown, v1alpha1.ReasonConnecting)...)
	f.reachesWithin(syncTimeout+harness.ReadyTimeout, mirror("broken"), lost(metav1.ConditionFalse, v1alpha1.ReasonCacheSyncFailed)...)
	lab.WaitFor(f, harness.ReadyTimeout, mirror("broken"), harness.Want{
		Type: v1alpha1.ConditionConnected, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCacheSyncFailed,
		Message: "Deployment cannot be listed and watched: answered 500 InternalError",
	})
}

// syncTimeout is what the operator gives the caches of a cluster.
const syncTimeout = time.Minute

// restricted is an operator that may not reach clusters on its own machine and
// reads nothing that all namespaces share.
func (f *fixture) restricted() {
	lab.Register(f, "local", lab.Targets[plain])
	f.create()
	f.says(not(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonClusterSecretStoreUnsupported))
	f.reaches(mirror("local"), refused(v1alpha1.ReasonLocalAddressRefused)...)
}
