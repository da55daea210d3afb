// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package goroutines

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

func TestFindNamesWhatIsLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	end := make(chan struct{})
	go leave(end)
	err := Find(before)
	close(end)
	if err == nil || !strings.Contains(err.Error(), "goroutines.leave") {
		t.Errorf("want the goroutine that is left by its name, got %v", err)
	}
	if err := Find(before); err != nil {
		t.Errorf("nothing is left, got %v", err)
	}
}

func TestAQueueThatWasNotStoppedIsNamed(t *testing.T) {
	before := goleak.IgnoreCurrent()
	queue := priorityqueue.New[string]("q")
	err := Find(before)
	queue.ShutDown()
	if err == nil || !strings.Contains(err.Error(), "priorityqueue") {
		t.Errorf("want the queue, got %v", err)
	}
}

// Once the queue is mended, this fails and the exception goes.
func TestAQueueMayWaitForAWorkerThatLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	deadline := time.Now().Add(time.Minute)
	for goleak.Find(before) == nil {
		if time.Now().After(deadline) {
			t.Fatal("no queue waits for a worker that left")
		}
		for range 100 {
			stopWhileAdding()
		}
	}
	if err := Find(before); err != nil {
		t.Error(err)
	}
}

func stopWhileAdding() {
	queue := priorityqueue.New[string]("q")
	left := make(chan struct{})
	go func() {
		defer close(left)
		queue.Get()
	}()
	queue.Add("item")
	queue.ShutDown()
	<-left
}

func leave(end chan struct{}) { <-end }
