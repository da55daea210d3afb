// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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
	client := shared.client(t, "edge-1")
	shared.apply(t, "edge-1", web)
	awaitWeb(t, client)
	ask := func(patience time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		out, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/web/services/web:80/proxy/healthcheck").DoRaw(ctx)
		return string(out), err
	}
	eventually(t, "the Service answers", func() (bool, string) {
		out, err := ask(time.Minute)
		return err == nil && out == "OK", fmt.Sprint(out, err)
	})
	shared.must(t, "health", "edge-1", "--pods", "app=web", "503")
	if _, err := ask(time.Minute); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("with 503: %v", err)
	}
	shared.must(t, "health", "edge-1", "--pods", "app=web", "silent")
	if _, err := ask(3 * time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silent: %v", err)
	}
	shared.must(t, "health", "edge-1", "--pods", "app=web", "ok")
	if out, err := ask(time.Minute); err != nil || out != "OK" {
		t.Errorf("after all: %s %v", out, err)
	}
	if _, err := shared.run("health", "edge-1", "--pods", "app=web", "404"); err == nil {
		t.Error("an unknown answer is accepted")
	}
}

// awaitWeb waits until the Deployment of web is available: controller manager, scheduler and fake nodes work.
func awaitWeb(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	eventually(t, "the Deployment is available", func() (bool, string) {
		deployment, err := client.AppsV1().Deployments("web").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return deployment.Status.AvailableReplicas == 2, fmt.Sprint(deployment.Status)
	})
}

// runJobs creates Jobs without retries.
func runJobs(t *testing.T, client kubernetes.Interface, names ...string) {
	t.Helper()
	for _, name := range names {
		noRetry := int32(0)
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: batchv1.JobSpec{BackoffLimit: &noRetry, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "registry.example.org/none"}},
			}}},
		}
		if _, err := client.BatchV1().Jobs(metav1.NamespaceDefault).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitPod waits until the pod of a Job is as wanted.
func awaitPod(t *testing.T, client kubernetes.Interface, job, what string, wanted func(corev1.PodStatus) bool) {
	t.Helper()
	eventually(t, "the pod of Job "+job+" "+what, func() (bool, string) {
		pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		if err != nil {
			return false, err.Error()
		}
		return len(pods.Items) == 1 && wanted(pods.Items[0].Status), fmt.Sprint(pods.Items)
	})
}

// ended returns how the container of a Job's pod ended, once it has.
func ended(t *testing.T, client kubernetes.Interface, job string) *corev1.ContainerStateTerminated {
	t.Helper()
	var state *corev1.ContainerStateTerminated
	awaitPod(t, client, job, "ends", func(status corev1.PodStatus) bool {
		for _, container := range status.ContainerStatuses {
			state = container.State.Terminated
		}
		return state != nil
	})
	return state
}

// awaitJob waits for a condition of a Job.
func awaitJob(t *testing.T, client kubernetes.Interface, name string, condition batchv1.JobConditionType) {
	t.Helper()
	eventually(t, fmt.Sprintf("Job %s is %s", name, condition), func() (bool, string) {
		job, err := client.BatchV1().Jobs(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return hasEnded(job, condition), fmt.Sprint(job.Status)
	})
}

func hasEnded(job *batchv1.Job, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

func TestJobsEndAsTold(t *testing.T) {
	t.Parallel()
	const message = `no such: "column" x`
	client := shared.client(t, "edge-1")
	shared.must(t, "job-end", "edge-1", "--job", "ends-*", "--exit-code", "37", "--message", message)
	shared.must(t, "job-end", "edge-1", "--job", "ends-well", "--message", "done")
	runJobs(t, client, "ends-badly", "ends-well", "another")
	for name, want := range map[string]corev1.ContainerStateTerminated{
		"ends-badly": {ExitCode: 37, Message: message},
		"ends-well":  {ExitCode: 0, Message: "done"},
		"another":    {ExitCode: 0, Message: ""},
	} {
		got := ended(t, client, name)
		if got.ExitCode != want.ExitCode || got.Message != want.Message {
			t.Errorf("%s ended with %d %q, want %d %q", name, got.ExitCode, got.Message, want.ExitCode, want.Message)
		}
	}
	awaitJob(t, client, "ends-badly", batchv1.JobFailed)
	awaitJob(t, client, "ends-well", batchv1.JobComplete)
}

func TestAHeldJobRunsUntilTheHoldIsCleared(t *testing.T) {
	t.Parallel()
	client := shared.client(t, "edge-1")
	shared.must(t, "job-end", "edge-1", "--job", "held", "--hold", "--exit-code", "3", "--message", "after all")
	runJobs(t, client, "held")
	awaitPod(t, client, "held", "runs", func(status corev1.PodStatus) bool { return status.Phase == corev1.PodRunning })
	if out := shared.must(t, "job-end", "edge-1", "--list"); !strings.Contains(out, `"held"`) {
		t.Errorf("the decision is not listed: %s", out)
	}
	// A Job that nothing holds and that was created later has ended: the held one would have, too.
	runJobs(t, client, "not-held")
	awaitJob(t, client, "not-held", batchv1.JobComplete)
	awaitPod(t, client, "held", "still runs", func(status corev1.PodStatus) bool { return status.Phase == corev1.PodRunning })
	shared.must(t, "job-end", "edge-1", "--job", "held", "--clear")
	if got := ended(t, client, "held"); got.ExitCode != 3 || got.Message != "after all" {
		t.Errorf("it ended with %d %q", got.ExitCode, got.Message)
	}
	if out := shared.must(t, "job-end", "edge-1", "--list"); strings.Contains(out, `"held"`) {
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
	limits := shared.client(t, "hub").CoreV1().LimitRanges(metav1.NamespaceDefault)
	eventually(t, "the API server calls the webhook", func() (bool, string) {
		_, err := limits.Create(t.Context(), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
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
