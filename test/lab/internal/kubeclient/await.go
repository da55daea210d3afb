// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package kubeclient

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// Await returns when an object is as wanted, which a watch tells it: it costs the API server two requests however
// long it takes. An object that is not there is nil.
func Await(ctx context.Context, resource dynamic.ResourceInterface, name string, wanted func(*unstructured.Unstructured) (bool, error)) error {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	for {
		list, err := resource.List(ctx, options)
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		var live *unstructured.Unstructured
		if len(list.Items) > 0 {
			live = &list.Items[0]
		}
		if done, err := wanted(live); done || err != nil {
			return err
		}
		from := options
		from.ResourceVersion = list.GetResourceVersion()
		events, err := resource.Watch(ctx, from)
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		done, err := follow(ctx, events, wanted)
		events.Stop()
		if done || err != nil {
			return err
		}
		// The watch broke off, as with its API server or when its version is too old. Seen from the beginning.
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// follow reads a watch until the object is as wanted. It is neither done nor an error when the watch ends before.
func follow(ctx context.Context, events watch.Interface, wanted func(*unstructured.Unstructured) (bool, error)) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case event, open := <-events.ResultChan():
			if !open || event.Type == watch.Error {
				return false, nil
			}
			live, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				return false, fmt.Errorf("watch: unexpected %T", event.Object)
			}
			if event.Type == watch.Deleted {
				live = nil
			}
			if done, err := wanted(live); done || err != nil {
				return done, err
			}
		}
	}
}

// IsTrue tells whether a condition of an object is True.
func IsTrue(object *unstructured.Unstructured, conditionType string) bool {
	if object == nil {
		return false
	}
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if ok && condition["type"] == conditionType {
			return condition["status"] == string(metav1.ConditionTrue)
		}
	}
	return false
}
