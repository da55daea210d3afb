// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const web = `apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: init, image: registry.example.org/init}]
      containers: [{name: web, image: registry.example.org/web}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8776}]}
`

func TestADeploymentBecomesAvailableAndItsPodsAnswerAsTold(t *testing.T) {
	t.Parallel()
	shared.apply(t, "edge-1", web)
	if _, err := shared.kubectl("edge-1", "wait", "-n", "web", "--for=condition=Available", "deployment/web", "--timeout=60s"); err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/namespaces/web/services/web:80/proxy/healthcheck"
	eventually(t, "the Service answers", func() (bool, string) {
		out, err := shared.kubectl("edge-1", "get", "--raw", path)
		return err == nil && out == "OK", fmt.Sprint(out, err)
	})
	shared.must(t, "health", "edge-1", "--pods", "app=web", "503")
	if _, err := shared.kubectl("edge-1", "get", "--raw", path); err == nil || !strings.Contains(err.Error(), "ServiceUnavailable") {
		t.Errorf("with 503: %v", err)
	}
	shared.must(t, "health", "edge-1", "--pods", "app=web", "silent")
	// kubectl words its own timeout in two ways, by where it was waiting.
	if _, err := shared.kubectl("edge-1", "get", "--raw", path, "--request-timeout=3s"); err == nil ||
		!strings.Contains(err.Error(), "Client.Timeout") && !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("silent: %v", err)
	}
	shared.must(t, "health", "edge-1", "--pods", "app=web", "ok")
	if out, err := shared.kubectl("edge-1", "get", "--raw", path); err != nil || out != "OK" {
		t.Errorf("after all: %s %v", out, err)
	}
	if _, err := shared.run("health", "edge-1", "--pods", "app=web", "404"); err == nil {
		t.Error("an unknown answer is accepted")
	}
}

// job makes the manifest of a Job without retries.
func job(name string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: registry.example.org/none}]
`, name)
}

// ended returns how the container of a Job's pod ended, once it has.
func ended(t *testing.T, name string) *corev1.ContainerStateTerminated {
	t.Helper()
	var state *corev1.ContainerStateTerminated
	eventually(t, "the pod of Job "+name+" ends", func() (bool, string) {
		out, err := shared.kubectl("edge-2", "get", "pods", "-l", "batch.kubernetes.io/job-name="+name, "-o", "json")
		if err != nil {
			return false, err.Error()
		}
		var pods corev1.PodList
		if err := json.Unmarshal([]byte(out), &pods); err != nil {
			return false, err.Error()
		}
		for _, pod := range pods.Items {
			for _, container := range pod.Status.ContainerStatuses {
				state = container.State.Terminated
			}
		}
		return state != nil, out
	})
	return state
}

func TestJobsEndAsTold(t *testing.T) {
	t.Parallel()
	const message = `no such: "column" x`
	shared.must(t, "job-end", "edge-2", "--job", "ends-*", "--exit-code", "37", "--message", message)
	shared.must(t, "job-end", "edge-2", "--job", "ends-well", "--message", "done")
	shared.apply(t, "edge-2", job("ends-badly")+"---\n"+job("ends-well")+"---\n"+job("another"))
	for name, want := range map[string]corev1.ContainerStateTerminated{
		"ends-badly": {ExitCode: 37, Message: message},
		"ends-well":  {ExitCode: 0, Message: "done"},
		"another":    {ExitCode: 0, Message: ""},
	} {
		got := ended(t, name)
		if got.ExitCode != want.ExitCode || got.Message != want.Message {
			t.Errorf("%s ended with %d %q, want %d %q", name, got.ExitCode, got.Message, want.ExitCode, want.Message)
		}
	}
	for name, condition := range map[string]string{"ends-badly": "Failed", "ends-well": "Complete"} {
		if _, err := shared.kubectl("edge-2", "wait", "job/"+name, "--for=condition="+condition, "--timeout=30s"); err != nil {
			t.Error(err)
		}
	}
}

func TestAHeldJobRunsUntilTheHoldIsCleared(t *testing.T) {
	t.Parallel()
	shared.must(t, "job-end", "edge-2", "--job", "held", "--hold", "--exit-code", "3", "--message", "after all")
	shared.apply(t, "edge-2", job("held"))
	if _, err := shared.kubectl("edge-2", "wait", "pod", "-l", "batch.kubernetes.io/job-name=held", "--for=jsonpath={.status.phase}=Running", "--timeout=30s"); err != nil {
		t.Fatal(err)
	}
	if out := shared.must(t, "job-end", "edge-2", "--list"); !strings.Contains(out, `"held"`) {
		t.Errorf("the decision is not listed: %s", out)
	}
	// Three times as long as a pod runs that nothing holds.
	if _, err := shared.kubectl("edge-2", "wait", "job/held", "--for=condition=Failed", "--timeout=1s"); err == nil {
		t.Fatal("the held Job has ended")
	}
	shared.must(t, "job-end", "edge-2", "--job", "held", "--clear")
	if got := ended(t, "held"); got.ExitCode != 3 || got.Message != "after all" {
		t.Errorf("it ended with %d %q", got.ExitCode, got.Message)
	}
	if out := shared.must(t, "job-end", "edge-2", "--list"); strings.Contains(out, `"held"`) {
		t.Errorf("the decision is still listed: %s", out)
	}
}

const webhook = `apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: default}
spec: {ports: [{port: 443, targetPort: 9443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: webhook}
webhooks:
- name: webhook.example.org
  clientConfig: {service: {name: webhook, namespace: default}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [limitranges]}]
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 5
`

func TestAWebhookOfTheHostIsReachedThroughItsService(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reached := make(chan byte, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		first := make([]byte, 1)
		if _, err := conn.Read(first); err == nil {
			reached <- first[0]
		}
	}()
	shared.apply(t, "hub", webhook)
	shared.must(t, "webhook", "hub", "--service", "default/webhook", "--to", listener.Addr().String())
	const limits = `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"x","namespace":"default"},"spec":{"limits":[]}}`
	file := filepath.Join(t.TempDir(), "limits.json")
	if err := os.WriteFile(file, []byte(limits), 0o644); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API server calls the webhook", func() (bool, string) {
		_, err := shared.kubectl("hub", "create", "-f", file, "--dry-run=server")
		select {
		case first := <-reached:
			const handshake = 0x16
			return first == handshake, fmt.Sprintf("the first byte is %#x, not that of a TLS handshake", first)
		case <-time.After(10 * time.Millisecond):
			return false, fmt.Sprint(err)
		}
	})
	shared.must(t, "webhook", "hub", "--service", "default/webhook", "--remove")
}
