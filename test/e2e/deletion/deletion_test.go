// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// Every case has a registration and a namespace of its own, and all of them run
// side by side under one operator.
func TestADeletedCinder(t *testing.T) {
	op := lab.StartOperator(t, append([]string{"--abandon-after=" + abandonAfter.String()}, quick...)...)
	for name, run := range map[string]func(*testing.T, *harness.Operator){
		"is swept while its cluster answers":                                   whileItAnswers,
		"waits for a cluster that is down":                                     whileItIsDown,
		"waits for a cluster that falls silent":                                whileItHangs,
		"waits for a cluster whose address is a black hole":                    whileItIsABlackHole,
		"waits for a cluster that rejects the credential":                      whileItIsUnauthorized,
		"waits for a registration that is refused":                             whileItIsRefused,
		"waits while its namespace is not listed":                              whileItsNamespaceIsNotListed,
		"waits for a cluster that refuses the deletes":                         whileDeletesAreRefused,
		"is given up when its cluster was deregistered before":                 deregisteredBefore,
		"is given up when its cluster is deregistered later":                   deregisteredLater,
		"is swept when its cluster is registered again":                        registeredAgainInTime,
		"is given up at once by annotation when its cluster is refused":        annotatedWhileRefused,
		"is given up at once by annotation when its cluster is not registered": annotatedWhileDeregistered,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, op)
		})
	}
}

func whileItAnswers(t *testing.T, _ *harness.Operator) {
	s := deploy(t, "answers", lab.Targets["edge-1"])
	s.delete()
	s.swept()
}

func whileItIsDown(t *testing.T, _ *harness.Operator) {
	s := deploy(t, "down", lab.Targets["edge-2"])
	lab.Run(t, "kill", "edge-2")
	back := false
	t.Cleanup(func() {
		if !back {
			lab.Run(t, "start", "edge-2")
		}
	})
	s.away(`target cluster "down" is unreachable since `)
	s.delete()
	s.held(`target cluster "down" is unreachable since `, pastBothWindows)
	lab.Run(t, "start", "edge-2") // from here on the sweep may begin at any time
	back = true
	s.swept()
}

func whileItHangs(t *testing.T, _ *harness.Operator) {
	proxy := lab.Targets["edge-1"].Proxy(t)
	s := deploy(t, "silent", lab.Targets["edge-1"], func(r *corev1.Secret) {
		r.Data[v1alpha1.RegistrationKeyKubeconfig] = proxy.Kubeconfig(t)
	})
	silent := func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	}
	proxy.Override(silent)
	t.Cleanup(func() { proxy.Override(nil) })
	s.delete() // the loss is not known yet
	s.held(`target cluster "silent" is unreachable since `, pastBothWindows)
	s.untouched()
	proxy.Override(nil)
	s.swept()
}

func whileItIsABlackHole(t *testing.T, _ *harness.Operator) {
	for _, kind := range []string{"tcp", "tls"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := deploy(t, "hole-"+kind, lab.Targets["edge-1"])
			was := s.kubeconfig(string(harness.Hole(t, kind)))
			s.away(`target cluster "hole-` + kind + `" is `)
			s.delete()
			s.held(`target cluster "hole-`+kind+`" is `, pastBothWindows)
			s.untouched()
			s.kubeconfig(was)
			s.swept()
		})
	}
}

func whileItIsUnauthorized(t *testing.T, _ *harness.Operator) {
	edge := lab.Targets["edge-1"]
	account := func(secret string) []byte {
		file := lab.Path(secret + ".kubeconfig")
		lab.Run(t, "account", "edge-1", "--namespace", harness.SystemNamespace, "--service-account", "cinder-operator", "--token-secret", secret, "--out", file)
		kubeconfig, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return kubeconfig
	}
	s := deploy(t, "unauthorized", edge, func(r *corev1.Secret) {
		r.Data[v1alpha1.RegistrationKeyKubeconfig] = account("first-token")
	})
	edge.Delete(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "first-token", Namespace: harness.SystemNamespace}})
	s.away("put a valid credential into its registration")
	s.delete()
	s.held("put a valid credential into its registration", pastBothWindows)
	s.untouched()
	s.kubeconfig(string(account("second-token")))
	s.swept()
}

func whileItIsRefused(t *testing.T, _ *harness.Operator) {
	s := deploy(t, "refused", lab.Targets["edge-1"])
	was := s.kubeconfig("no: kubeconfig")
	s.away(`target cluster "refused" is refused: KubeconfigInvalid`)
	s.delete()
	s.held(`target cluster "refused" is refused: KubeconfigInvalid`, pastBothWindows)
	s.untouched()
	s.kubeconfig(was)
	s.swept()
}

func whileItsNamespaceIsNotListed(t *testing.T, _ *harness.Operator) {
	s := deploy(t, "unlisted", lab.Targets["edge-1"])
	s.set(v1alpha1.RegistrationKeyNamespaces, "others")
	s.away(`not for "unlisted"`)
	s.delete()
	s.held(`not for "unlisted"`, pastBothWindows)
	s.untouched()
	// Who may have Cinders there is no question any more.
	harness.Change(t, lab.Hub, s.registration, func(r *corev1.Secret) {
		s.inNamespace(r)
		r.Data[v1alpha1.RegistrationKeyAllowedNamespaces] = []byte("others")
	})
	s.swept()
}

// whileDeletesAreRefused: the cluster resolves, and an admission policy there
// keeps the children.
func whileDeletesAreRefused(t *testing.T, op *harness.Operator) {
	s := deploy(t, "keeps", lab.Targets["edge-1"])
	policy, binding := keepEverything(t, s.target, s.ns)
	s.delete()
	lab.WaitFor(t, time.Minute, s.cinder,
		harness.Want{Type: v1alpha1.ConditionSecretsReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonReconcileError, Message: "nothing goes"},
		harness.Want{Type: v1alpha1.ConditionSecretsReady, Message: v1alpha1.AnnotationAbandonChildren + "=true"},
	)
	s.untouched()
	if n := strings.Count(op.Log(t), "panic"); n > 0 {
		t.Errorf("the operator panicked %d times", n)
	}
	s.target.Delete(t, binding)
	s.target.Delete(t, policy)
	s.swept()
}

func deregisteredBefore(t *testing.T, op *harness.Operator) {
	s := deploy(t, "before", lab.Targets["edge-1"])
	s.deregister()
	s.away(`target cluster "before" is not registered in namespace "c5c3-clusters"`)
	s.delete()
	deleted := time.Now()
	s.held(`target cluster "before" is not registered in namespace "c5c3-clusters"`, abandonAfter/2)
	s.givenUp(op, time.Minute)
	if took := time.Since(deleted); took < abandonAfter {
		t.Errorf("given up %s after the deletion, before the window had run out", took)
	}

	s.registerAgain(s.inNamespace)
	counted := func(want func(float64, int) bool) func(context.Context) error {
		return func(context.Context) error {
			series := op.Scrape(t).Of("cinder_operator_orphaned_children", "cluster", "before")
			if len(series) != 1 || !want(series[0].Value, len(s.list())) {
				return fmt.Errorf("the series are %v", series)
			}
			return nil
		}
	}
	all := func(n float64, left int) bool { return int(n) == left && left >= len(s.children) }
	harness.Eventually(t, 30*time.Second, "the orphans are counted", counted(all))
	harness.Consistently(t, 3*time.Second, "the orphans stay", counted(all))
	s.sweptNothing()
	s.deregister()
	harness.Eventually(t, 30*time.Second, "no series of a cluster that is not registered", func(context.Context) error {
		if series := op.Scrape(t).Of("cinder_operator_orphaned_children", "cluster", "before"); len(series) > 0 {
			return fmt.Errorf("there is %v", series)
		}
		return nil
	})
}

func deregisteredLater(t *testing.T, op *harness.Operator) {
	s := deploy(t, "later", lab.Targets["edge-1"])
	s.kubeconfig("no: kubeconfig")
	s.away("is refused")
	s.delete()
	s.held("is refused", pastBothWindows)
	s.deregister()
	deregistered := time.Now()
	s.held(`target cluster "later" is not registered`, abandonAfter/2)
	s.givenUp(op, time.Minute)
	if took := time.Since(deregistered); took < abandonAfter {
		t.Errorf("given up %s after the cluster was deregistered, before the window had run out", took)
	}
}

func registeredAgainInTime(t *testing.T, _ *harness.Operator) {
	s := deploy(t, "again", lab.Targets["edge-1"])
	s.deregister()
	s.away(`target cluster "again" is not registered`)
	s.delete()
	s.held(`target cluster "again" is not registered`, abandonAfter/3)
	s.registerAgain()
	s.swept()
}

func annotatedWhileRefused(t *testing.T, op *harness.Operator) {
	s := deploy(t, "enough", lab.Targets["edge-1"])
	s.kubeconfig("no: kubeconfig")
	s.away("is refused")
	annotate(t, s.cinder, v1alpha1.AnnotationAbandonChildren, "false")
	s.delete()
	s.held("is refused", 2*time.Second)
	annotate(t, s.cinder, v1alpha1.AnnotationAbandonChildren, "true")
	s.givenUp(op, time.Minute) // no window ends it while the registration stands
}

func annotatedWhileDeregistered(t *testing.T, op *harness.Operator) {
	s := deploy(t, "at-once", lab.Targets["edge-1"])
	s.deregister()
	s.away("is not registered")
	// Set before, it ends the deletion when that begins, and nothing earlier.
	annotate(t, s.cinder, v1alpha1.AnnotationAbandonChildren, "true")
	s.stays(2*time.Second, "is not registered")
	s.delete()
	s.givenUp(op, abandonAfter-2*time.Second)
}
