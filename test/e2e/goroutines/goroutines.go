// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package goroutines tells which goroutines a test of controllers leaves behind.
package goroutines

import "go.uber.org/goleak"

// Find waits a moment for goroutines to end and names those that do not. Three of
// controller-runtime's own, which end with the process alone, are let be: a queue
// that hands out an item in the moment in which its last worker leaves waits for
// that worker for ever, and holds a lock meanwhile. A queue that was not stopped at
// all has others, and is named.
func Find(options ...goleak.Option) error {
	for _, function := range []string{"handleReadyItems", "handleAddBuffer", "handleWaitingItems"} {
		options = append(options, goleak.IgnoreAnyFunction("sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue.(*priorityqueue[...])."+function))
	}
	return goleak.Find(options...)
}
