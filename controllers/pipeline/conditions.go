// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ReasonReconcileError is the reason of a condition whose step returned an
	// error: what it reports is not known, so its status is Unknown.
	ReasonReconcileError = "ReconcileError"
	// ReasonPending is the reason of a condition whose step was never reached.
	ReasonPending = "Pending"

	pendingMessage = "not reconciled yet"
	// maxMessage is what the API server admits in a condition's message.
	maxMessage = 32768
)

// SetCondition sets one condition in memory. It does not touch
// lastTransitionTime: only Status.Write knows which outcome is stored.
func SetCondition(conds *[]metav1.Condition, generation int64, typ string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > maxMessage {
		message = message[:maxMessage]
	}
	c := metav1.Condition{
		Type: typ, Status: status, Reason: reason, Message: strings.ToValidUTF8(message, "?"), ObservedGeneration: generation,
	}
	if have := meta.FindStatusCondition(*conds, typ); have != nil {
		c.LastTransitionTime = have.LastTransitionTime
		*have = c
		return
	}
	*conds = append(*conds, c)
}

// True sets a condition to True.
func True(conds *[]metav1.Condition, generation int64, typ, reason, message string) {
	SetCondition(conds, generation, typ, metav1.ConditionTrue, reason, message)
}

// False sets a condition to False.
func False(conds *[]metav1.Condition, generation int64, typ, reason, message string) {
	SetCondition(conds, generation, typ, metav1.ConditionFalse, reason, message)
}

// Unknown sets a condition to Unknown.
func Unknown(conds *[]metav1.Condition, generation int64, typ, reason, message string) {
	SetCondition(conds, generation, typ, metav1.ConditionUnknown, reason, message)
}

// Pending gives every type that has no condition yet the status Unknown, so
// that a resource whose steps were never reached says so.
func Pending(conds *[]metav1.Condition, generation int64, types ...string) {
	for _, typ := range types {
		if meta.FindStatusCondition(*conds, typ) == nil {
			Unknown(conds, generation, typ, ReasonPending, pendingMessage)
		}
	}
}

// Aggregate sets the condition named ready: True under allReady exactly when
// every required type is True, else False under notAllReady. The message names
// the types that are not True, in the order of required.
func Aggregate(conds *[]metav1.Condition, generation int64, ready string, required []string, allReady, notAllReady string) {
	var missing []string
	for _, typ := range required {
		if c := meta.FindStatusCondition(*conds, typ); c == nil {
			missing = append(missing, typ+" ("+ReasonPending+")")
		} else if c.Status != metav1.ConditionTrue {
			missing = append(missing, typ+" ("+c.Reason+")")
		}
	}
	if len(missing) == 0 {
		True(conds, generation, ready, allReady, "every condition is True")
		return
	}
	False(conds, generation, ready, notAllReady, "not True: "+strings.Join(missing, ", "))
}

// settle gives each condition the lastTransitionTime it deserves: the stored
// one while its status is the stored status, now otherwise; and orders the list
// by type, so that the order in which steps ran is no difference.
func settle(conds *[]metav1.Condition, stored []metav1.Condition, now metav1.Time) {
	for i := range *conds {
		c := &(*conds)[i]
		if have := meta.FindStatusCondition(stored, c.Type); have != nil && have.Status == c.Status {
			c.LastTransitionTime = have.LastTransitionTime
		} else {
			c.LastTransitionTime = now
		}
	}
	slices.SortFunc(*conds, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
}
