// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package goroutines tells which goroutines a test of controllers leaves behind.
package goroutines

import "go.uber.org/goleak"

// Find waits a moment for goroutines to end and names those that do not. One of
// controller-runtime's own, which ends with the process alone, is let be: a queue
// that hands out an item in the moment in which its last worker leaves waits for
// that worker for ever.
func Find(options ...goleak.Option) error {
	return goleak.Find(append(options, goleak.IgnoreAnyFunction(
		"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue.(*priorityqueue[...]).handleReadyItems"))...)
}
