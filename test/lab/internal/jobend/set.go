// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package jobend

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"c5c3.io/cinder-operator/test/lab/internal/kubeclient"
)

// pollInterval paces the wait for the API server's own informers, which announce nothing.
const pollInterval = 100 * time.Millisecond

// Set decides how Jobs end from now on and returns when the decision has effect. Pods that an earlier decision about
// the same Jobs holds get the new one.
func Set(ctx context.Context, kubeconfig string, end End) error {
	client, err := kubeclient.Typed(kubeconfig)
	if err != nil {
		return err
	}
	if err := end.Validate(); err != nil {
		return err
	}
	if err := set(ctx, client, end); err != nil {
		return err
	}
	return release(ctx, client, end, end.annotations())
}

func set(ctx context.Context, client kubernetes.Interface, end End) error {
	cm := end.configMap()
	configMaps := client.CoreV1().ConfigMaps(paramNamespace)
	_, err := configMaps.Create(ctx, cm, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = configMaps.Update(ctx, cm, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", paramNamespace, cm.Name, err)
	}
	// The example of a pattern may be named by a more specific decision. Then this one is never seen on it, and has no
	// effect on it either.
	err = awaitDryRun(ctx, client, end, func(pod *corev1.Pod) bool {
		return pod.Annotations[annotationID] == end.id() || outweighed(pod, end)
	})
	if err != nil {
		return fmt.Errorf("await the effect of the decision about Job %q: %w", end.Job, err)
	}
	return nil
}

// outweighed tells whether a pod carries a more specific decision.
func outweighed(pod *corev1.Pod, end End) bool {
	weight, err := strconv.Atoi(pod.Annotations[annotationWeight])
	return err == nil && weight > end.weight()
}

// Clear removes a decision and lets the pods that it holds go on, with the exit code and message it gave them.
func Clear(ctx context.Context, kubeconfig string, end End) error {
	client, err := kubeclient.Typed(kubeconfig)
	if err != nil {
		return err
	}
	if err := end.Validate(); err != nil {
		return err
	}
	name := end.name()
	err = client.CoreV1().ConfigMaps(paramNamespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ConfigMap %s/%s: %w", paramNamespace, name, err)
	}
	err = awaitDryRun(ctx, client, end, func(pod *corev1.Pod) bool {
		return !strings.HasPrefix(pod.Annotations[annotationID], name+"-")
	})
	if err != nil {
		return fmt.Errorf("await the end of the decision about Job %q: %w", end.Job, err)
	}
	return release(ctx, client, end, map[string]string{annotationHold: "false"})
}

// List returns the decisions of a cluster, without the one that probes the policy.
func List(ctx context.Context, kubeconfig string) ([]End, error) {
	client, err := kubeclient.Typed(kubeconfig)
	if err != nil {
		return nil, err
	}
	found, err := client.CoreV1().ConfigMaps(paramNamespace).List(ctx, metav1.ListOptions{LabelSelector: paramLabel + "=true"})
	if err != nil {
		return nil, fmt.Errorf("list ConfigMaps in %s: %w", paramNamespace, err)
	}
	ends := []End{}
	for i := range found.Items {
		end, err := fromConfigMap(&found.Items[i])
		if err != nil {
			return nil, err
		}
		if end.Job != probeJob {
			ends = append(ends, end)
		}
	}
	return ends, nil
}

// awaitDryRun polls until the pod that a Job named by the decision would get is as wanted.
func awaitDryRun(ctx context.Context, client kubernetes.Interface, end End, wanted func(*corev1.Pod) bool) error {
	namespace := end.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	var last error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		pod, err := dryRun(ctx, client, namespace, end.example())
		if last = err; err != nil {
			// A namespace that is a moment old has no ServiceAccount yet; one that is not there never gets one.
			return false, ignoreForbidden(err)
		}
		return wanted(pod), nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w (last answer: %w)", err, last)
	}
	return err
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// release rewrites the annotations of the pods that a decision holds.
func release(ctx context.Context, client kubernetes.Interface, end End, annotations map[string]string) error {
	pods, err := client.CoreV1().Pods(end.Namespace).List(ctx, metav1.ListOptions{LabelSelector: jobLabel})
	if err != nil {
		return fmt.Errorf("list Pods of Jobs: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Annotations[annotationHold] != "true" || !strings.HasPrefix(pod.Annotations[annotationID], end.name()+"-") {
			continue
		}
		_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("patch Pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return nil
}
