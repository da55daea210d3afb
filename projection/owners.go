// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"c5c3.io/cinder-operator/clusters"
)

// Owners maps an event of a child to the owner that its labels name. After an
// update the labels before it count first: an edit of a label is drift, and the
// owner that repairs it is the one that was named. Without labels the controller
// owner reference names the owner. ok is false for what names none, or one of
// another namespace. The caller checks that the owner exists and names the
// event's cluster.
func Owners(ev clusters.Event) (kind, namespace, name string, ok bool) {
	states := make([]metav1.Object, 0, 2)
	if ev.Old != nil {
		states = append(states, ev.Old)
	}
	if ev.Object != nil {
		states = append(states, ev.Object)
	}
	for _, o := range states {
		l := o.GetLabels()
		kind, namespace, name = l[LabelOwnerKind], l[LabelOwnerNamespace], l[LabelOwnerName]
		if kind != "" && name != "" && namespace == o.GetNamespace() && namespace != "" {
			return kind, namespace, name, true
		}
	}
	for _, o := range states {
		if c := metav1.GetControllerOf(o); c != nil && o.GetNamespace() != "" {
			return c.Kind, o.GetNamespace(), c.Name, true
		}
	}
	return "", "", "", false
}
