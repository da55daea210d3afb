// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func attempt(name string, minute int, phase corev1.PodPhase, message string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)),
	}}
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "injected", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "bye"}}},
		{Name: "cinder-manage", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}}},
	}
	return pod
}

func TestTheAttemptThatSucceededIsRead(t *testing.T) {
	t.Parallel()
	failed := func(name string, minute int) corev1.Pod { return attempt(name, minute, corev1.PodFailed, "") }
	done := func(name string, minute int) corev1.Pod { return attempt(name, minute, corev1.PodSucceeded, "") }
	for name, c := range map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"no pod is left":                      {nil, ""},
		"the only one":                        {[]corev1.Pod{done("a", 1)}, "a"},
		"beside failed attempts":              {[]corev1.Pod{failed("a", 1), failed("b", 2), done("c", 3)}, "c"},
		"before a younger attempt":            {[]corev1.Pod{done("a", 1), failed("b", 2)}, "a"},
		"without a success the newest":        {[]corev1.Pod{failed("b", 2), failed("c", 3), failed("a", 1)}, "c"},
		"order in the list does not count":    {[]corev1.Pod{done("c", 3), failed("a", 1)}, "c"},
		"one that runs is no success of this": {[]corev1.Pod{attempt("a", 1, corev1.PodRunning, ""), done("b", 0)}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := checkedPod(c.pods)
			if (got == nil) != (c.want == "") || got != nil && got.Name != c.want {
				t.Errorf("read %v, want %q", got, c.want)
			}
		})
	}
}

func TestTheExitCodeStandsInTheTerminationMessage(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]int{
		"cinder-status upgrade check exit 0": 0, "cinder-status upgrade check exit 2\n": 2, "cinder-status upgrade check exit 255": 255,
		"": -1, "cinder-status upgrade check exit": -1, "cinder-status upgrade check exit two": -1, "exit 1": -1,
	} {
		pod := attempt("a", 1, corev1.PodSucceeded, message)
		code, ok := exitOf(&pod)
		if ok != (want >= 0) || ok && code != want {
			t.Errorf("%q reads as %d, %t", message, code, ok)
		}
	}
	running := attempt("a", 1, corev1.PodRunning, "")
	running.Status.ContainerStatuses[1].State = corev1.ContainerState{}
	if code, ok := exitOf(&running); ok {
		t.Errorf("a container that runs exited with %d", code)
	}
}

func TestTheSeverityOfTheUpgradeCheckBecomesAnEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code               int
		known              bool
		kind, reason, says string
	}{
		"clean":     {0, true, corev1.EventTypeNormal, "UpgradeCheckCompleted", "exited with 0"},
		"warnings":  {1, true, corev1.EventTypeWarning, "UpgradeCheckWarnings", "exited with 1"},
		"failed":    {2, true, corev1.EventTypeWarning, "UpgradeCheckWarnings", "a check failed"},
		"not known": {0, false, corev1.EventTypeNormal, "UpgradeCheckCompleted", "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, reason, note := upgradeCheckEvent("2026.2", c.code, c.known)
			if kind != c.kind || reason != c.reason || !strings.Contains(note, c.says) || !strings.Contains(note, "2026.2") {
				t.Errorf("got %s %s %q", kind, reason, note)
			}
		})
	}
}
