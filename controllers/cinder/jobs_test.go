// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder_test

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/cinder"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/projection"
)

// lagging is the hub as a process sees it whose cache still shows a Job as it was.
type lagging struct {
	clusters.Target
	cached client.Client
}

func (l lagging) Name() string             { return "" }
func (l lagging) IsHub() bool              { return true }
func (l lagging) UID() types.UID           { return "hub" }
func (l lagging) Client() client.Client    { return l.cached }
func (l lagging) APIReader() client.Reader { return suite.hub }
func (l lagging) String() string           { return "the hub" }

// remembering reads one Job from memory and everything else from the API server.
type remembering struct {
	client.Client
	job *batchv1.Job
}

func (r remembering) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if into, ok := obj.(*batchv1.Job); ok && key == client.ObjectKeyFromObject(r.job) {
		r.job.DeepCopyInto(into)
		return nil
	}
	return r.Client.Get(ctx, key, obj, opts...)
}

func guardedJob(ns, image string) *batchv1.Job {
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "guarded", Annotations: map[string]string{render.AnnotationJobHash: image}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "job", Image: image}},
		}}},
	}
}

// An outdated Job is replaced by what it is and not by what the cache says of it.
func TestAnOutdatedJobIsJudgedOnceMoreBeforeItIsReplaced(t *testing.T) {
	t.Parallel()
	const old, now = "registry.example.org/old:1", "registry.example.org/new:1"
	for name, c := range map[string]struct {
		// since is what happened to the Job since the cache saw it.
		since func(f *fixture, p *cinder.Pass, job *batchv1.Job)
		// kept says that the Job stays, answered that a Job is there to go on with.
		kept, answered bool
	}{
		"nothing happened": {
			since:    func(*fixture, *cinder.Pass, *batchv1.Job) {},
			answered: true,
		},
		"a pod of it has started": {
			since: func(f *fixture, _ *cinder.Pass, job *batchv1.Job) {
				job.Status.StartTime, job.Status.Active, job.Status.Ready = ptr.To(metav1.Now()), 1, ptr.To[int32](1)
				if err := suite.hub.Status().Update(f.Context(), job); err != nil {
					f.Fatal(err)
				}
			},
			kept: true,
		},
		"it is on its way out": {
			since: func(f *fixture, _ *cinder.Pass, job *batchv1.Job) {
				job.Finalizers = []string{"example.org/hold"}
				if err := suite.hub.Update(f.Context(), job); err != nil {
					f.Fatal(err)
				}
				if err := suite.hub.Delete(f.Context(), job.DeepCopy()); err != nil {
					f.Fatal(err)
				}
				f.Cleanup(func() { f.letJobGo(job) })
			},
			kept: true,
		},
		"it is the new one already": {
			since: func(f *fixture, p *cinder.Pass, job *batchv1.Job) {
				if err := suite.hub.Delete(f.Context(), job.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
					f.Fatal(err)
				}
				next, err := projection.Apply(f.Context(), p.Scope, guardedJob(f.ns, now))
				if err != nil {
					f.Fatal(err)
				}
				*job = *next
			},
			kept: true, answered: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := onHub(t)
			fresh := f.passOver(suite.hub)
			job, err := projection.Apply(t.Context(), fresh.Scope, guardedJob(f.ns, old))
			if err != nil {
				t.Fatal(err)
			}
			seen := job.DeepCopy()
			c.since(f, fresh, job)

			got, err := cinder.EnsureJob(t.Context(), f.passOver(remembering{Client: suite.hub, job: seen}), guardedJob(f.ns, now))
			if err != nil {
				t.Fatal(err)
			}
			if (got != nil) != c.answered {
				t.Errorf("a Job is answered: %v, want %v", got != nil, c.answered)
			}
			var live batchv1.Job
			if err := suite.hub.Get(t.Context(), client.ObjectKeyFromObject(seen), &live); err != nil {
				t.Fatal(err)
			}
			if (live.UID == job.UID) != c.kept {
				t.Errorf("the Job has the UID %s, it was %s", live.UID, job.UID)
			}
			if c.answered && live.Spec.Template.Spec.Containers[0].Image != now {
				t.Errorf("the Job runs %s", live.Spec.Template.Spec.Containers[0].Image)
			}
		})
	}
}

// passOver is a pass of a process with that cache.
func (f *fixture) passOver(cached client.Client) *cinder.Pass {
	f.Helper()
	cr := &v1alpha1.Cinder{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: cinderName, UID: types.UID("of-" + f.ns)}}
	target := lagging{cached: cached}
	// Another hub's, so that the suite's operator does not take the Job for an orphan of its own.
	scope, err := projection.New(projection.Options{Scheme: suite.scheme, HubUID: "another-hub"}).Scope(target, cr)
	if err != nil {
		f.Fatal(err)
	}
	return &cinder.Pass{Cinder: cr, Target: target, Scope: scope}
}

// unaware reads from a cache that knows no Job.
type unaware struct{ client.Client }

func (u unaware) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*batchv1.Job); ok {
		return apierrors.NewNotFound(batchv1.Resource("jobs"), key.Name)
	}
	return u.Client.Get(ctx, key, obj, opts...)
}

func TestAJobThatLeavesUnseenIsAwaited(t *testing.T) {
	t.Parallel()
	f := onHub(t)
	job, err := projection.Apply(t.Context(), f.passOver(suite.hub).Scope, guardedJob(f.ns, "registry.example.org/old:1"))
	if err != nil {
		t.Fatal(err)
	}
	f.edit(job, func() { job.Finalizers = []string{"example.org/hold"} })
	f.Cleanup(func() { f.letJobGo(job) })
	if err := suite.hub.Delete(t.Context(), job.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	got, err := cinder.EnsureJob(t.Context(), f.passOver(unaware{suite.hub}), guardedJob(f.ns, "registry.example.org/new:1"))
	if err != nil || got != nil {
		t.Errorf("got %v (%v), want that the old one is awaited", got, err)
	}
}

// letJobGo takes the finalizers off a Job after the test, whose own context is
// over then.
func (f *fixture) letJobGo(job *batchv1.Job) {
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	defer cancel()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := suite.hub.Patch(ctx, job.DeepCopy(), patch); err != nil && !apierrors.IsNotFound(err) {
		f.Errorf("release Job %s: %v", job.Name, err)
	}
}
