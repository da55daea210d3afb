// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// setConditions writes the conditions of a TargetCluster.
func setConditions(tc *v1alpha1.TargetCluster, a *admitted, st *state) {
	accepted := acceptedCondition(a)
	connected := connectedCondition(a, st)
	for _, c := range []metav1.Condition{accepted, connected, permittedCondition(a, st.seenNow()), readyCondition(accepted, connected)} {
		c.ObservedGeneration = tc.Generation
		meta.SetStatusCondition(&tc.Status.Conditions, c)
	}
}

func acceptedCondition(a *admitted) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAccepted,
		Message: "The registration is usable",
	}
	if a.refused != nil {
		c.Status, c.Reason = metav1.ConditionFalse, a.refused.Reason
		c.Message = a.refused.detail()
	}
	if a.conflict != "" {
		c.Message += "; the " + a.conflict + " of the same name is passed over"
	}
	return c
}

func connectedCondition(a *admitted, st *state) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionConnected, Reason: string(st.phase)}
	switch {
	case a.refused != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonPending, "The registration is refused"
	case st.phase == phaseConnected:
		c.Status, c.Message = metav1.ConditionTrue, "The API server answers"
	case st.phase == phaseConnecting:
		c.Status, c.Message = metav1.ConditionUnknown, "Waiting for the first answer of the API server"
	default:
		c.Status, c.Message = metav1.ConditionFalse, st.cause
		if st.remedy != "" {
			c.Message += "; " + st.remedy
		}
	}
	return c
}

// permittedCondition informs: an account may lack what no custom resource asks for.
func permittedCondition(a *admitted, seen *sighting) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionPermitted, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending}
	switch {
	case a.refused != nil:
		c.Message = "The registration is refused"
	case seen == nil || seen.rights == nil:
		c.Message = "The cluster has not said yet what the registered account may do"
	case len(seen.rights.missing) == 0:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonPermitted
		c.Message = "The registered account may do what the operator needs"
	default:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonPermissionsMissing
		c.Message = "The registered account lacks what status.missingPermissions lists; grant it on the cluster, it is noticed by itself"
		if seen.rights.more {
			c.Message = "The registered account lacks more than status.missingPermissions lists; grant it on the cluster, it is noticed by itself"
		}
	}
	return c
}

func readyCondition(accepted, connected metav1.Condition) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllReady,
		Message: "Cinders can be created on the cluster",
	}
	for _, part := range []metav1.Condition{connected, accepted} {
		if part.Status != metav1.ConditionTrue {
			c.Status, c.Reason, c.Message = part.Status, part.Reason, part.Message
		}
	}
	return c
}
