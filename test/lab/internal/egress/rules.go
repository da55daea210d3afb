// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Answer is how a pod answers to HTTP.
type Answer string

// The answers.
const (
	// OK is status 200.
	OK Answer = "ok"
	// Unavailable is status 503.
	Unavailable Answer = "503"
	// Silent takes the request and never answers.
	Silent Answer = "silent"
)

// Answers lists all answers.
var Answers = []Answer{OK, Unavailable, Silent}

// Rule says how the pods that it selects answer.
type Rule struct {
	// Namespace limits the rule; empty means all.
	Namespace string `json:"namespace,omitempty"`
	// Pods is a label selector.
	Pods   string `json:"pods"`
	Answer Answer `json:"answer"`

	selector labels.Selector
}

// Rules decide for each pod. The newest rule that selects a pod wins; a pod that no rule selects answers OK.
type Rules struct {
	mu    sync.Mutex // guards rules; never held across I/O
	rules []Rule
}

// Set adds a rule. It replaces an earlier one with the same selector and namespace.
func (r *Rules) Set(rule Rule) error {
	if !slices.Contains(Answers, rule.Answer) {
		return fmt.Errorf("unknown answer %q, one of %v", rule.Answer, Answers)
	}
	selector, err := labels.Parse(rule.Pods)
	if err != nil {
		return fmt.Errorf("parse selector %q: %w", rule.Pods, err)
	}
	rule.selector = selector
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = slices.DeleteFunc(r.rules, func(old Rule) bool {
		return old.Namespace == rule.Namespace && old.selector.String() == selector.String()
	})
	r.rules = append(r.rules, rule)
	return nil
}

// List returns the rules, the newest last.
func (r *Rules) List() []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rules)
}

// For decides how a pod answers.
func (r *Rules) For(pod *corev1.Pod) Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rule := range slices.Backward(r.rules) {
		if rule.Namespace != "" && rule.Namespace != pod.Namespace {
			continue
		}
		if rule.selector.Matches(labels.Set(pod.Labels)) {
			return rule.Answer
		}
	}
	return OK
}
