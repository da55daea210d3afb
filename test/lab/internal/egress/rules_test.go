// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pod(namespace string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: labels}}
}

func TestTheNewestRuleThatSelectsAPodDecides(t *testing.T) {
	var rules Rules
	api := pod("one", map[string]string{"app": "api"})
	if got := rules.For(api); got != OK {
		t.Errorf("without rules: %s", got)
	}
	set := func(rule Rule) {
		t.Helper()
		if err := rules.Set(rule); err != nil {
			t.Fatal(err)
		}
	}
	set(Rule{Pods: "app=api", Answer: Unavailable})
	set(Rule{Pods: "app=other", Answer: Silent})
	if got := rules.For(api); got != Unavailable {
		t.Errorf("selected by label: %s", got)
	}
	set(Rule{Pods: "", Namespace: "two", Answer: Silent})
	if got := rules.For(api); got != Unavailable {
		t.Errorf("a rule of another namespace decided: %s", got)
	}
	if got := rules.For(pod("two", nil)); got != Silent {
		t.Errorf("selected by namespace: %s", got)
	}
	set(Rule{Pods: "app = api", Answer: OK})
	if got := rules.For(api); got != OK {
		t.Errorf("after the rule was replaced: %s", got)
	}
	if n := len(rules.List()); n != 3 {
		t.Errorf("%d rules, want 3: one was to be replaced", n)
	}
}

func TestRulesAndRoutesRefuseWhatTheyCannotRead(t *testing.T) {
	var rules Rules
	for _, rule := range []Rule{{Pods: "a=b", Answer: "404"}, {Pods: "a in (", Answer: OK}} {
		if rules.Set(rule) == nil {
			t.Errorf("%+v is accepted", rule)
		}
	}
	var routes Routes
	for service, to := range map[string]string{"name": "127.0.0.1:1", "a/b/c": "127.0.0.1:1", "/b": "127.0.0.1:1", "a/b": "127.0.0.1"} {
		if routes.Set(service, to) == nil {
			t.Errorf("%s to %s is accepted", service, to)
		}
	}
	if err := routes.Set("a/b", "127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if err := routes.Set("a/b", ""); err != nil || len(routes.List()) != 0 {
		t.Errorf("after the removal: %v, %v", routes.List(), err)
	}
}
