// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Pass is what the steps of one reconcile share.
type Pass[P any] interface {
	// Object is the working copy of the resource. Steps set status fields on it.
	Object() client.Object
	// Conditions is the working condition list of Object.
	Conditions() *[]metav1.Condition
	// Fork gives one member of the parallel group a deep copy of its own.
	Fork() P
}

// Step is one row of the table.
type Step[P any] struct {
	// Name labels the step in metrics and logs.
	Name string
	// Condition is the type that the step reports through.
	Condition string
	// Run does the step. A non-zero result or an error ends a sequential lane.
	Run func(ctx context.Context, pass P) (ctrl.Result, error)
}

// Engine runs the steps over one pass.
type Engine[P Pass[P]] struct {
	// Sequential run in order; the first non-zero result or error ends the pass.
	Sequential []Step[P]
	// Parallel all run once the sequential ones are through. Each sees the pass
	// as the lane left it and may set its own condition only.
	Parallel []Step[P]
	// OnError is asked first when a step fails. When it answers true, it has
	// said everything there is to say: the step's condition stays as it is, the
	// error is not returned, and the pass ends with its result.
	OnError func(pass P, step string, err error) (ctrl.Result, bool)
	// Metrics may be nil.
	Metrics *Metrics
}

// Run runs the table. The result is that of the step that ended the lane, or
// the earliest requeue of the parallel group; it is zero beside an error, and the
// errors of the group are joined. Run touches no status on the API server.
func (e *Engine[P]) Run(ctx context.Context, pass P) (ctrl.Result, error) {
	for _, step := range e.Sequential {
		res, err := e.run(ctx, step, pass)
		if err != nil {
			return e.failed(pass, pass, step, err)
		}
		if !res.IsZero() {
			return res, nil
		}
	}
	return e.runParallel(ctx, pass)
}

type outcome[P any] struct {
	pass P
	res  ctrl.Result
	err  error
}

func (e *Engine[P]) runParallel(ctx context.Context, pass P) (ctrl.Result, error) {
	outcomes := make([]outcome[P], len(e.Parallel))
	for i := range outcomes {
		outcomes[i].pass = pass.Fork()
	}
	var wg sync.WaitGroup
	for i, step := range e.Parallel {
		wg.Go(func() {
			o := &outcomes[i]
			o.res, o.err = e.run(ctx, step, o.pass)
		})
	}
	wg.Wait()
	var res ctrl.Result
	var errs []error
	for i, step := range e.Parallel {
		o := outcomes[i]
		if o.err == nil {
			merge(pass, o.pass, step.Condition)
		} else {
			// The member's own condition is half-made; the error speaks for it.
			o.res, o.err = e.failed(pass, o.pass, step, o.err)
		}
		res = earlier(res, o.res)
		errs = append(errs, o.err)
	}
	if err := errors.Join(errs...); err != nil {
		// Its retry comes first; a result beside an error is ignored by the queue, with a warning in the log each time.
		return ctrl.Result{}, err
	}
	return res, nil
}

// failed reports a step's error on pass, the one whose status is written.
func (e *Engine[P]) failed(pass, own P, step Step[P], err error) (ctrl.Result, error) {
	if e.OnError != nil {
		if res, handled := e.OnError(pass, step.Name, err); handled {
			return res, nil
		}
	}
	e.Metrics.failed(step.Name, step.Condition)
	Unknown(pass.Conditions(), own.Object().GetGeneration(), step.Condition, ReasonReconcileError, err.Error())
	return ctrl.Result{}, fmt.Errorf("%s: %w", step.Name, err)
}

// run runs one step. A panic becomes an error: in a member of the parallel
// group it would otherwise end the process, and with it every other resource.
func (e *Engine[P]) run(ctx context.Context, step Step[P], pass P) (res ctrl.Result, err error) {
	start := time.Now()
	defer func() {
		e.Metrics.observe(step.Name, time.Since(start).Seconds())
		if r := recover(); r != nil {
			log.FromContext(ctx).Error(fmt.Errorf("%v", r), "step panicked", "step", step.Name, "stack", string(debug.Stack()))
			res, err = ctrl.Result{}, fmt.Errorf("panic: %v", r)
		}
	}()
	return step.Run(log.IntoContext(ctx, log.FromContext(ctx).WithValues("step", step.Name)), pass)
}

func merge[P Pass[P]](into, from P, typ string) {
	if c := meta.FindStatusCondition(*from.Conditions(), typ); c != nil {
		SetCondition(into.Conditions(), c.ObservedGeneration, typ, c.Status, c.Reason, c.Message)
	}
}

func earlier(a, b ctrl.Result) ctrl.Result {
	switch {
	case a.IsZero():
		return b
	case b.IsZero():
		return a
	case b.RequeueAfter < a.RequeueAfter:
		return b
	}
	return a
}
