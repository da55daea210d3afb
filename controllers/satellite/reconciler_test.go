// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package satellite

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

// both runs a test over one NFS satellite of each kind.
func both(t *testing.T, test func(t *testing.T, f *fixture, obj client.Object)) {
	t.Helper()
	for name, make := range map[string]func(string) client.Object{
		v1alpha1.KindCinderBackend:       func(ns string) client.Object { return nfsBackend(ns) },
		v1alpha1.KindCinderBackupBackend: func(ns string) client.Object { return nfsBackup(ns) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			obj := make(f.namespace)
			must(t, api.Create(f.ctx, obj))
			test(t, f, obj)
		})
	}
}

// project does what the parent does: it applies the Secret of the satellite's
// files as a revision and names it in the Deployment.
func (f *fixture) project(obj client.Object) {
	f.t.Helper()
	k := kindOf(obj)
	scope, err := f.options.Projector.Scope(f.target, f.cinder)
	must(f.t, err)
	files, err := k.files(cinderName, obj, cephKey)
	must(f.t, err)
	intent := rendered(files)
	intent.Namespace = f.namespace
	secret, err := scope.ApplyRevision(f.ctx, k.revisionBase(cinderName, obj.GetName()), intent)
	must(f.t, err)
	_, err = projection.Apply(f.ctx, scope, deployment(f.namespace, k.deployment(cinderName, obj.GetName()), secret))
	must(f.t, err)
}

func deployment(namespace, name, secret string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "cinder", Image: "registry.example.org/cinder:2026.1"}},
					Volumes: []corev1.Volume{{Name: "projection", VolumeSource: corev1.VolumeSource{
						Secret: &corev1.SecretVolumeSource{SecretName: secret},
					}}},
				},
			},
		},
	}
}

func TestASatelliteIsReadyOnceItsDeploymentNamesItsSecret(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, obj client.Object) {
		if result := f.mustPass(obj); result.RequeueAfter != requeueSecretPolling {
			t.Errorf("while it waits: next pass after %s, want %s", result.RequeueAfter, requeueSecretPolling)
		}
		f.expect(obj, v1alpha1.ConditionCredentialsReady, "True/"+v1alpha1.ReasonCredentialsNotRequired)
		f.expect(obj, v1alpha1.ConditionConfigProjected, "False/"+v1alpha1.ReasonWaitingForProjection)
		f.expect(obj, v1alpha1.ConditionReady, "False/"+v1alpha1.ReasonNotAllReady)

		f.project(obj)
		if result := f.mustPass(obj); result.RequeueAfter != 0 {
			t.Errorf("once all is well: next pass after %s, want none", result.RequeueAfter)
		}
		f.expect(obj, v1alpha1.ConditionConfigProjected, "True/"+v1alpha1.ReasonConfigProjected)
		f.expect(obj, v1alpha1.ConditionReady, "True/"+v1alpha1.ReasonAllReady)
		if got := *kindOf(obj).read(obj).observed; got != obj.GetGeneration() {
			t.Errorf("status.observedGeneration %d, want %d", got, obj.GetGeneration())
		}

		before := obj.GetResourceVersion()
		f.mustPass(obj)
		if obj.GetResourceVersion() != before {
			t.Error("a pass that found nothing new wrote")
		}
		if events := f.recorder.events(); len(events) > 0 {
			t.Errorf("events %q, want none", events)
		}
	})
}

func TestAProjectionOfAnOlderSpecDoesNotCount(t *testing.T) {
	f := newFixture(t)
	b := nfsBackend(f.namespace)
	must(t, api.Create(f.ctx, b))
	f.project(b)
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionConfigProjected, "True/"+v1alpha1.ReasonConfigProjected)

	b.Spec.NFS.MountOptions = "nfsvers=4.2"
	must(t, api.Update(f.ctx, b))
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionConfigProjected, "False/"+v1alpha1.ReasonWaitingForProjection)

	// Back to the first spec, the first revision is the current one again.
	b.Spec.NFS.MountOptions = nfsBackend(f.namespace).Spec.NFS.EffectiveMountOptions()
	must(t, api.Update(f.ctx, b))
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionConfigProjected, "True/"+v1alpha1.ReasonConfigProjected)
}

func TestANameOfAnyLengthIsProjected(t *testing.T) {
	f := newFixture(t)
	b := nfsBackup(f.namespace)
	b.Name = strings.Repeat("b", 253)
	must(t, api.Create(f.ctx, b))
	f.project(b)
	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionConfigProjected, "True/"+v1alpha1.ReasonConfigProjected)
}

func TestADeploymentOfSomebodyElseIsNoProjection(t *testing.T) {
	f := newFixture(t)
	b := nfsBackend(f.namespace)
	must(t, api.Create(f.ctx, b))
	f.project(b)
	d := &appsv1.Deployment{}
	must(t, api.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "cinder-volume-nfs-a"}, d))
	d.Labels[projection.LabelOwnerHub] = "hub-2"
	must(t, api.Update(f.ctx, d))

	f.mustPass(b)
	f.expect(b, v1alpha1.ConditionConfigProjected, "False/"+v1alpha1.ReasonWaitingForProjection)
}

func TestASatelliteWithoutItsCinderWaitsForIt(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, obj client.Object) {
		f.project(obj)
		f.mustPass(obj)
		must(t, api.Delete(f.ctx, f.cinder))

		if result := f.mustPass(obj); result.RequeueAfter != requeueSecretPolling {
			t.Errorf("next pass after %s, want %s", result.RequeueAfter, requeueSecretPolling)
		}
		f.expect(obj, v1alpha1.ConditionCredentialsReady, "False/"+v1alpha1.ReasonWaitingForParent)
		f.expect(obj, v1alpha1.ConditionConfigProjected, "False/"+v1alpha1.ReasonWaitingForProjection)
		f.expect(obj, v1alpha1.ConditionReady, "False/"+v1alpha1.ReasonNotAllReady)
	})
}

func TestAnUnavailableClusterIsReportedAndNothingElseChanges(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, obj client.Object) {
		f.project(obj)
		f.mustPass(obj)
		const why = `target cluster "edge-1" is unreachable since noon: refused`
		f.registry.answer(&clusters.UnavailableError{Cluster: "edge-1", Cause: clusters.CauseUnreachable, Message: why})

		if result := f.mustPass(obj); result.RequeueAfter != requeueSecretPolling {
			t.Errorf("next pass after %s, want %s", result.RequeueAfter, requeueSecretPolling)
		}
		f.expect(obj, v1alpha1.ConditionCredentialsReady, "False/"+v1alpha1.ReasonTargetClusterUnavailable)
		if got := f.message(obj, v1alpha1.ConditionCredentialsReady); got != why {
			t.Errorf("message %q, want %q", got, why)
		}
		f.expect(obj, v1alpha1.ConditionConfigProjected, "True/"+v1alpha1.ReasonConfigProjected)
		f.expect(obj, v1alpha1.ConditionReady, "False/"+v1alpha1.ReasonNotAllReady)
	})
}

func TestWhileTheRegistryStartsNothingIsWritten(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, obj client.Object) {
		f.registry.answer(&clusters.UnavailableError{Cluster: "edge-1", Cause: clusters.CauseStarting, Message: "starting"})
		before := obj.GetResourceVersion()
		if result := f.mustPass(obj); result.RequeueAfter != 0 {
			t.Errorf("next pass after %s, want to be woken instead", result.RequeueAfter)
		}
		if obj.GetResourceVersion() != before {
			t.Error("the object was written")
		}
	})
}

func TestAnotherClusterBehindTheNameIsNotRead(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, obj client.Object) {
		f.cinder.Status.TargetCluster = &v1alpha1.TargetClusterStatusRef{Name: "edge-1", UID: "uid-0"}
		must(t, api.Status().Update(f.ctx, f.cinder))
		f.mustPass(obj)
		f.expect(obj, v1alpha1.ConditionCredentialsReady, "False/"+v1alpha1.ReasonTargetClusterUnavailable)
		for _, uid := range []string{"uid-0", "uid-1"} {
			if got := f.message(obj, v1alpha1.ConditionCredentialsReady); !strings.Contains(got, uid) {
				t.Errorf("message %q does not name %s", got, uid)
			}
		}

		f.cinder.Annotations = map[string]string{v1alpha1.AnnotationAcceptCluster: "uid-1"}
		must(t, api.Update(f.ctx, f.cinder))
		f.mustPass(obj)
		f.expect(obj, v1alpha1.ConditionCredentialsReady, "True/"+v1alpha1.ReasonCredentialsNotRequired)
	})
}

func TestAnErrorOfTheRegistryIsReturned(t *testing.T) {
	f := newFixture(t)
	b := nfsBackend(f.namespace)
	must(t, api.Create(f.ctx, b))
	broken := errors.New("broken")
	f.registry.answer(broken)
	if _, err := f.pass(b); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}
