// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package detach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

const (
	target = "edge-1"
	// hold is nobody's finalizer but the test's.
	hold = "example.org/hold"
	// linger keeps a fake pod Terminating.
	linger = "fake/linger"
	// longerThanAPoll outlasts the poll of a detach's stages.
	longerThanAPoll = 12 * time.Second
)

// deployed is a Ready Cinder on the target with two volume backends, cinder-nfs
// and nfs-2, and a backup target.
type deployed struct {
	*testing.T
	edge          *harness.Cluster
	operator      *harness.Operator
	cinder        *v1alpha1.Cinder
	first, second *v1alpha1.CinderBackend
}

func deploy(t *testing.T, namespace string) *deployed {
	t.Helper()
	d := &deployed{T: t, edge: lab.Targets[target]}
	lab.Register(t, target, d.edge)
	lab.Namespace(t, namespace, d.edge)
	d.operator = lab.StartOperator(t)
	d.cinder = harness.Cinder(namespace, "cinder", target)
	d.first, _ = lab.Deploy(t, d.cinder)
	d.second = harness.Backend(d.cinder, "nfs-2")
	lab.Hub.Create(t, d.second)
	t.Cleanup(func() { lab.Remove(t, d.second) })
	for _, obj := range []client.Object{d.first, d.second, d.cinder} {
		lab.WaitReady(t, harness.ReadyTimeout, obj)
	}
	return d
}

func (d *deployed) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: d.cinder.Namespace, Name: name}
}

// job waits for the Job of a backend that is not the given one.
func (d *deployed) job(name string, not *batchv1.Job) *batchv1.Job {
	d.Helper()
	job := &batchv1.Job{}
	harness.Eventually(d, harness.ReadyTimeout, "Job "+name, func(ctx context.Context) error {
		if err := d.edge.Client.Get(ctx, d.key(name), job); err != nil {
			return err
		}
		if not != nil && job.UID == not.UID {
			return errors.New("it is still the former one")
		}
		return nil
	})
	return job
}

// projections counts the Secrets that a backend was rendered into.
func (d *deployed) projections(ctx context.Context, b *v1alpha1.CinderBackend) (int, error) {
	var list corev1.SecretList
	err := d.edge.Client.List(ctx, &list, client.InNamespace(d.cinder.Namespace))
	return len(slices.DeleteFunc(list.Items, func(s corev1.Secret) bool {
		return !strings.HasPrefix(s.Name, d.cinder.Name+"-backend-"+b.Name+"-")
	})), err
}

// told counts the events of a reason.
func (d *deployed) told(ctx context.Context, reason string) (int, error) {
	var list eventsv1.EventList
	err := lab.Hub.Client.List(ctx, &list, client.InNamespace(d.cinder.Namespace))
	n := 0
	for _, e := range list.Items {
		if e.Reason == reason {
			n++
			if e.Series != nil {
				n += int(e.Series.Count) - 1
			}
		}
	}
	return n, err
}

func (d *deployed) expectTold(reason string, want int) {
	d.Helper()
	harness.Eventually(d, 10*time.Second, fmt.Sprintf("%d events %s", want, reason), func(ctx context.Context) error {
		n, err := d.told(ctx, reason)
		if err == nil && n != want {
			err = fmt.Errorf("there are %d", n)
		}
		return err
	})
}

func (d *deployed) expectCounted(kind string, succeeded, failed int) {
	d.Helper()
	harness.Eventually(d, harness.ReadyTimeout, "ends of "+kind+" in a scrape", func(context.Context) error {
		return d.operator.Scrape(d).JobsEnded(d.cinder, kind, succeeded, failed)
	})
}

func TestABackendLeavesStageByStage(t *testing.T) {
	d := deploy(t, "stages")
	const volume, jobName = "cinder-volume-cinder-nfs", "cinder-cinder-nfs-service-remove"
	if !controllerutil.ContainsFinalizer(d.first, v1alpha1.FinalizerServiceRemove) {
		t.Fatalf("a Ready backend has the finalizers %v", d.first.Finalizers)
	}
	var pods corev1.PodList
	if err := d.edge.Client.List(t.Context(), &pods, client.InNamespace(d.cinder.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "volume-cinder-nfs"}); err != nil || len(pods.Items) != 1 {
		t.Fatalf("%d pods of the volume service (%v)", len(pods.Items), err)
	}
	pod := &pods.Items[0]
	harness.Change(t, d.edge, pod, func(p *corev1.Pod) { p.Annotations = map[string]string{linger: "true"} })
	lab.Run(t, "job-end", target, "--namespace", d.cinder.Namespace, "--job", jobName, "--hold")

	lab.Hub.Delete(t, d.first)
	lab.WaitFor(t, harness.ReadyTimeout, d.cinder, harness.Want{
		Type: v1alpha1.ConditionVolumeServicesReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWaitingForVolumeServices, Message: volume,
	})
	lab.WaitFor(t, harness.ReadyTimeout, d.first, harness.Want{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching})
	harness.Consistently(t, longerThanAPoll, "no Job beside a pod that is left", func(ctx context.Context) error {
		if err := d.edge.Client.Get(ctx, d.key(jobName), &batchv1.Job{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("get Job %s: %w", jobName, errors.Join(err, errors.New("want NotFound")))
		}
		live := &appsv1.Deployment{}
		if err := d.edge.Client.Get(ctx, d.key(volume), live); err != nil {
			return err
		}
		if live.DeletionTimestamp == nil {
			return errors.New("the Deployment is not being deleted")
		}
		return nil
	})

	harness.Change(t, d.edge, pod, func(p *corev1.Pod) { p.Annotations = nil })
	failed := d.job(jobName, nil)
	if got := failed.Annotations["cinder.c5c3.io/backend-uid"]; got != string(d.first.UID) {
		t.Errorf("the Job is for %q, want %q", got, d.first.UID)
	}
	if n, err := d.projections(t.Context(), d.first); err != nil || n == 0 {
		t.Errorf("%d projections of the backend (%v), want that they outlive the Job", n, err)
	}
	// A Job that fails by its retries would take minutes.
	harness.Change(t, d.edge, failed, func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) })
	lab.WaitFor(t, harness.ReadyTimeout, d.cinder, harness.Want{
		Type: v1alpha1.ConditionVolumeServicesReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonServiceRemoveJobFailed, Message: jobName,
	})
	harness.Consistently(t, longerThanAPoll, "a failed Job keeps the backend", func(ctx context.Context) error {
		job := &batchv1.Job{}
		if err := errors.Join(lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(d.first), d.first), d.edge.Client.Get(ctx, d.key(jobName), job)); err != nil {
			return err
		}
		if job.UID != failed.UID {
			return errors.New("another Job was made")
		}
		return nil
	})
	d.expectTold("ServiceRemoveJobFailed", 1)
	d.expectCounted("service_remove", 0, 1)

	lab.Run(t, "job-end", target, "--namespace", d.cinder.Namespace, "--job", jobName, "--clear")
	if err := d.edge.Client.Delete(t.Context(), failed, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	lab.Hub.WaitGone(t, harness.ReadyTimeout, d.first)
	harness.Eventually(t, harness.ReadyTimeout, "nothing of the backend is left", func(ctx context.Context) error {
		if n, err := d.projections(ctx, d.first); err != nil || n > 0 {
			return fmt.Errorf("%d projections (%w)", n, err)
		}
		if err := d.edge.Client.Get(ctx, d.key(jobName), &batchv1.Job{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("get Job %s: %w", jobName, errors.Join(err, errors.New("want NotFound")))
		}
		cinder := &v1alpha1.Cinder{}
		if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(d.cinder), cinder); err != nil {
			return err
		}
		for key := range cinder.Annotations {
			if strings.Contains(key, "service-remove") {
				return fmt.Errorf("annotation %s is left", key)
			}
		}
		return nil
	})
	lab.WaitReady(t, harness.ReadyTimeout, d.cinder)
	d.expectTold("ServiceRemoved", 1)
	d.expectCounted("service_remove", 1, 1)
	if want := []v1alpha1.VolumeServiceStatus{{Backend: "nfs-2", Host: "cinder@nfs-2"}}; !slices.Equal(d.cinder.Status.VolumeServices, want) {
		t.Errorf("status.volumeServices is %+v, want %+v", d.cinder.Status.VolumeServices, want)
	}
	if have, err := lab.Hub.Children(t.Context(), d.cinder); err != nil || len(have) > 0 {
		t.Errorf("the hub has %v (%v), want nothing", have, err)
	}
	d.seriesGoWithTheCinder()
}

// seriesGoWithTheCinder lets the Cinder have every series that one can have, and
// deletes it.
func (d *deployed) seriesGoWithTheCinder() {
	d.Helper()
	lab.Run(d, "kubectl", target, "--", "--namespace", d.cinder.Namespace, "create", "job", "by-hand", "--from=cronjob/cinder-db-purge")
	d.expectCounted("db_purge", 1, 0)
	d.expectCounted("db_sync", 1, 0)
	d.expectCounted("service_remove", 1, 1)
	harness.Eventually(d, 10*time.Second, "the conditions in a scrape", func(ctx context.Context) error {
		if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(d.cinder), d.cinder); err != nil {
			return err
		}
		return d.operator.Scrape(d).ConditionsTold(d.cinder)
	})
	lab.Hub.Delete(d, d.cinder)
	lab.Hub.WaitGone(d, harness.ReadyTimeout, d.cinder)
	lab.Hub.Delete(d, d.second)
	lab.Hub.WaitGone(d, harness.ReadyTimeout, d.second)
	harness.Eventually(d, 10*time.Second, "the series go with the Cinder", func(context.Context) error {
		if left := d.operator.Scrape(d).OfCinder(d.cinder); len(left) > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
}

func TestBackendsLeaveInNameOrderAlsoAfterARestart(t *testing.T) {
	d := deploy(t, "order")
	d.operator.Stop(t)
	mark := d.edge.Mark(t)
	lab.Hub.Delete(t, d.second)
	lab.Hub.Delete(t, d.first)
	d.operator = lab.StartOperator(t)
	lab.Hub.WaitGone(t, harness.ReadyTimeout, d.first)
	lab.Hub.WaitGone(t, harness.ReadyTimeout, d.second)
	var order []string
	for _, r := range mark.Writes(t) {
		if r.Verb == "patch" && r.ObjectRef.Resource == "jobs" && strings.HasSuffix(r.ObjectRef.Name, "-service-remove") && !slices.Contains(order, r.ObjectRef.Name) {
			order = append(order, r.ObjectRef.Name)
		}
	}
	if want := []string{"cinder-cinder-nfs-service-remove", "cinder-nfs-2-service-remove"}; !slices.Equal(order, want) {
		t.Errorf("the Jobs came in the order %v, want %v", order, want)
	}
	lab.WaitFor(t, harness.ReadyTimeout, d.cinder, harness.Want{
		Type: v1alpha1.ConditionVolumeServicesReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoBackends,
	})
	d.expectTold("ServiceRemoved", 2)
	d.expectCounted("service_remove", 2, 0)
}

func TestABackendWaitsForAParentOnItsWayOutAndIsLetGoWithIt(t *testing.T) {
	d := deploy(t, "parent")
	harness.Change(t, lab.Hub, d.cinder, func(c *v1alpha1.Cinder) { controllerutil.AddFinalizer(c, hold) })
	lab.Hub.Delete(t, d.cinder)
	lab.Hub.Delete(t, d.first)
	lab.WaitFor(t, harness.ReadyTimeout, d.first, harness.Want{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching, Message: hold,
	})
	d.edge.WaitNoChildren(t, harness.ReadyTimeout, d.cinder)
	if err := lab.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(d.first), d.first); err != nil {
		t.Errorf("get the backend: %v, want that it waits", err)
	}

	harness.Change(t, lab.Hub, d.cinder, func(c *v1alpha1.Cinder) { controllerutil.RemoveFinalizer(c, hold) })
	lab.Hub.WaitGone(t, harness.ReadyTimeout, d.first)
	d.expectTold("ServiceRemoveSkipped", 1)
	// One that is deleted when its parent is long gone waits for nothing.
	lab.Hub.Delete(t, d.second)
	lab.Hub.WaitGone(t, 10*time.Second, d.second)
	d.expectTold("ServiceRemoveSkipped", 2)
	d.expectTold("ServiceRemoved", 0)
}
