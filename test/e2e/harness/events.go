// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Told counts the events on one object, by "Reason: note". A repetition that the
// API keeps as one object with a count counts as often as it was told.
func (c *Cluster) Told(ctx context.Context, namespace string, uid types.UID) (map[string]int, error) {
	list := &eventsv1.EventList{}
	if err := c.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the events in %s on %s: %w", namespace, c.Name, err)
	}
	out := map[string]int{}
	for i := range list.Items {
		e := &list.Items[i]
		if e.Regarding.UID != uid {
			continue
		}
		times := max(1, int(e.DeprecatedCount))
		if e.Series != nil {
			times = int(e.Series.Count)
		}
		out[e.Reason+": "+e.Note] += times
	}
	return out, nil
}

// WaitTold waits until an object of the hub has an event of the reason.
func (l *Lab) WaitTold(t testing.TB, d time.Duration, on client.Object, reason string) {
	t.Helper()
	Eventually(t, d, fmt.Sprintf("%T %s is told %s", on, client.ObjectKeyFromObject(on), reason), func(ctx context.Context) error {
		told, err := l.Hub.Told(ctx, on.GetNamespace(), on.GetUID())
		if err != nil {
			return err
		}
		for what := range told {
			if len(what) > len(reason) && what[:len(reason)+1] == reason+":" {
				return nil
			}
		}
		return fmt.Errorf("it was told %v", told)
	})
}
