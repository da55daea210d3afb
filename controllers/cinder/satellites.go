// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// credentialState is what a satellite's CredentialsReady means for its parent.
type credentialState int

const (
	// credentialsWaiting: not usable, as read over a working connection, or not
	// looked at yet. Nothing is projected.
	credentialsWaiting credentialState = iota
	// credentialsReady: the satellite can be rendered.
	credentialsReady
	// credentialsUnknown: they could not be read. A failed read is no answer:
	// what is live stays live.
	credentialsUnknown
)

func credentialsOf(conds []metav1.Condition) (credentialState, string) {
	c := meta.FindStatusCondition(conds, v1alpha1.ConditionCredentialsReady)
	if c == nil {
		return credentialsUnknown, "its credentials have not been looked at yet"
	}
	switch {
	case c.Status == metav1.ConditionTrue:
		return credentialsReady, ""
	case c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonWaitingForCredentials:
		return credentialsWaiting, c.Message
	case c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonNotSupportedYet:
		return credentialsWaiting, c.Message
	}
	return credentialsUnknown, c.Message
}

// isRevision tells whether name is a revision of base: the base and one more
// part. A base that continues another one's name is not mistaken for it.
func isRevision(name, base string) bool {
	digest, ok := strings.CutPrefix(name, base+"-")
	return ok && digest != "" && !strings.Contains(digest, "-")
}

// secretData turns rendered files into a Secret's data: stringData would leave
// the stored keys without an owner.
func secretData(files map[string]string) map[string][]byte {
	data := make(map[string][]byte, len(files))
	for key, text := range files {
		data[key] = []byte(text)
	}
	return data
}

func sortedByName[T any](items []T, name func(*T) string) []T {
	slices.SortFunc(items, func(a, b T) int { return strings.Compare(name(&a), name(&b)) })
	return items
}
