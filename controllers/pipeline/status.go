// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// statusWriteTimeout bounds the one status write of a pass.
const statusWriteTimeout = 10 * time.Second

// Status writes the status of one object once, at the end of a pass.
type Status struct {
	stored     client.Object
	conditions func(client.Object) *[]metav1.Condition
	now        func() time.Time
}

// Begin remembers the object as it is stored, before a pass changes its status
// in memory. conditions gives access to the object's condition list.
func Begin(obj client.Object, conditions func(client.Object) *[]metav1.Condition) *Status {
	stored, _ := obj.DeepCopyObject().(client.Object)
	return &Status{stored: stored, conditions: conditions, now: time.Now}
}

// Write stores obj's status if it differs from what Begin saw. A condition
// keeps its lastTransitionTime while its status is the stored one, however often
// the pass changed its mind in between.
//
// The write carries the resourceVersion of obj, so that a pass over a stale copy
// is refused with a Conflict instead of overwriting a newer outcome. An object
// that is gone is no error.
//
// A pass whose context has ended writes nothing. The operator stops, and calls
// that it cut off would be taken for findings: a healthy cluster for one that is
// away, a step for one that failed. The next process finds out.
func (s *Status) Write(ctx context.Context, c client.Client, obj client.Object) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write status of %s/%s: the pass was stopped: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	settle(s.conditions(obj), *s.conditions(s.stored), metav1.NewTime(s.now().Truncate(time.Second)))
	same, err := sameStatus(s.stored, obj)
	if err != nil || same {
		return err
	}
	// Metadata may have moved within the pass (a finalizer): the patch is
	// computed against the stored status on top of the present metadata.
	base, _ := s.stored.DeepCopyObject().(client.Object)
	base.SetResourceVersion(obj.GetResourceVersion())
	ctx, cancel := context.WithTimeout(ctx, statusWriteTimeout)
	defer cancel()
	into, _ := obj.DeepCopyObject().(client.Object)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, into, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status of %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	obj.SetResourceVersion(into.GetResourceVersion())
	return nil
}

func sameStatus(a, b client.Object) (bool, error) {
	sa, err := statusOf(a)
	if err != nil {
		return false, err
	}
	sb, err := statusOf(b)
	if err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(sa, sb), nil
}

func statusOf(obj client.Object) (any, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("read status of %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	return u["status"], nil
}
