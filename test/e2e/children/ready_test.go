// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

func TestACinderBecomesReadyAndItsChildrenStandOnItsTargetAndNowhereElse(t *testing.T) {
	lab.Register(t, "edge-1", lab.Targets["edge-1"])
	lab.Register(t, "edge-2", lab.Targets["edge-2"])
	ns := lab.Namespace(t, "ready", lab.Targets["edge-1"], lab.Targets["edge-2"])
	op := lab.StartOperator(t)
	cinder := harness.Cinder(ns, "cinder", "edge-1")
	backend, backup := lab.Deploy(t, cinder)
	for _, obj := range []client.Object{cinder, backend, backup} {
		lab.WaitReady(t, harness.ReadyTimeout, obj)
	}

	for _, typ := range v1alpha1.CinderSubConditions() {
		c := meta.FindStatusCondition(cinder.Status.Conditions, typ)
		if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != cinder.Generation {
			t.Errorf("condition %s is %+v", typ, c)
		}
	}
	if got, want := cinder.Status.TargetCluster, lab.Targets["edge-1"].UID(t); got == nil || got.Name != "edge-1" || got.UID != string(want) {
		t.Errorf("status.targetCluster is %+v, want edge-1 with UID %s", got, want)
	}
	if got := cinder.Status.InstalledRelease; got != "2026.1" {
		t.Errorf("status.installedRelease is %q", got)
	}
	if got, want := cinder.Status.Endpoint, "http://cinder.ready.svc.cluster.local:8776"; got != want {
		t.Errorf("status.endpoint is %q, want %q", got, want)
	}
	if want := []v1alpha1.VolumeServiceStatus{{Backend: "cinder-nfs", Host: "cinder@cinder-nfs"}}; !slices.Equal(cinder.Status.VolumeServices, want) {
		t.Errorf("status.volumeServices is %+v, want %+v", cinder.Status.VolumeServices, want)
	}

	have, err := lab.Targets["edge-1"].Children(t.Context(), cinder)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Deployment/cinder", "Deployment/cinder-scheduler", "Deployment/cinder-volume-cinder-nfs", "Deployment/cinder-backup",
		"Service/cinder", "PodDisruptionBudget/cinder", "CronJob/cinder-db-purge", "Job/cinder-db-sync",
		"Secret/cinder-db-connection", "Secret/cinder-transport-url",
	} {
		if !slices.Contains(have, want) {
			t.Errorf("edge-1 lacks %s; it has %v", want, have)
		}
	}
	for _, prefix := range []string{"ConfigMap/cinder-config-", "Secret/cinder-backend-cinder-nfs-", "Secret/cinder-backup-cinder-backups-"} {
		if n := len(slices.DeleteFunc(slices.Clone(have), func(s string) bool { return !strings.HasPrefix(s, prefix) })); n != 1 {
			t.Errorf("edge-1 has %d objects %s*, want one", n, prefix)
		}
	}
	for _, elsewhere := range []*harness.Cluster{lab.Hub, lab.Targets["edge-2"]} {
		if have, err := elsewhere.Children(t.Context(), cinder); err != nil || len(have) > 0 {
			t.Errorf("%s has %v (%v), want nothing", elsewhere.Name, have, err)
		}
	}
	if m := op.Metrics(t); !strings.Contains(m, `cinder_operator_target_cluster_up{cluster="edge-1",source="Secret"} 1`) {
		t.Errorf("/metrics does not say that edge-1 is up")
	}

	metrics := op.Scrape(t)
	if err := errors.Join(metrics.JobsEnded(cinder, "db_sync", 1, 0), metrics.ConditionsTold(cinder)); err != nil {
		t.Error(err)
	}

	t.Run("a steady Cinder is neither read nor written", func(t *testing.T) {
		hub, edge := lab.Hub.Mark(t), lab.Targets["edge-1"].Mark(t)
		// The figure is the promise: a Ready Cinder is left alone for a minute.
		<-time.After(60 * time.Second)
		for _, r := range hub.Writes(t) {
			t.Errorf("hub: %s %s", r.Verb, r.RequestURI)
		}
		for _, r := range edge.Requests(t) {
			if !steady(r) {
				t.Errorf("edge-1: %s %s", r.Verb, r.RequestURI)
			}
		}
		for _, r := range hub.Requests(t) {
			if r.ObjectRef.Resource != "leases" && !steady(r) {
				t.Errorf("hub: %s %s", r.Verb, r.RequestURI)
			}
		}
	})

	t.Run("deletion leaves nothing on the target", func(t *testing.T) {
		lab.Hub.Delete(t, backend)
		lab.Hub.Delete(t, backup)
		lab.Hub.Delete(t, cinder)
		lab.Hub.WaitGone(t, harness.ReadyTimeout, cinder)
		lab.Targets["edge-1"].WaitNoChildren(t, harness.ReadyTimeout, cinder)
		pods := &corev1.PodList{}
		harness.Eventually(t, harness.ReadyTimeout, "no pods in "+ns, func(ctx context.Context) error {
			if err := lab.Targets["edge-1"].Client.List(ctx, pods, client.InNamespace(ns)); err != nil {
				return err
			}
			if len(pods.Items) > 0 {
				return fmt.Errorf("%d pods left, the first is %s", len(pods.Items), pods.Items[0].Name)
			}
			return nil
		})
		if series := op.Scrape(t).OfCinder(cinder); len(series) > 0 {
			t.Errorf("the Cinder left the series %v", series)
		}
		var left corev1.Secret
		lab.Targets["edge-1"].Get(t, client.ObjectKey{Namespace: ns, Name: "cinder-db"}, &left) // the user's own stays
	})
}

// steady tells whether a request belongs to a fleet at rest: probes of the
// cluster, of what it serves and permits and of a Cinder's health, and watches
// that ran out.
func steady(r harness.Request) bool {
	return r.Verb == "watch" || r.ObjectRef.Subresource == "proxy" || strings.HasPrefix(r.ObjectRef.Resource, "selfsubject") ||
		r.ObjectRef.Resource == "" // /readyz, /version, /api, /apis: no objects
}

func TestACinderWithoutATargetLivesOnTheHub(t *testing.T) {
	ns := lab.Namespace(t, "local", lab.Hub)
	lab.StartOperator(t)
	cinder := harness.Cinder(ns, "cinder", "")
	lab.Deploy(t, cinder)
	lab.WaitReady(t, harness.ReadyTimeout, cinder)

	api := &appsv1.Deployment{}
	lab.Hub.Get(t, client.ObjectKeyFromObject(cinder), api)
	if owner := metav1.GetControllerOf(api); owner == nil || owner.UID != cinder.UID {
		t.Errorf("the API Deployment's controller is %+v, want the Cinder", owner)
	}
	if got := api.Labels["openstack.c5c3.io/owner-hub"]; got != string(lab.Hub.UID(t)) {
		t.Errorf("owner-hub is %q", got)
	}
	if cinder.Status.TargetCluster != nil {
		t.Errorf("status.targetCluster is %+v on the hub", cinder.Status.TargetCluster)
	}
	if slices.Contains(cinder.Finalizers, v1alpha1.FinalizerRemoteChildren) {
		t.Error("a Cinder on the hub carries the finalizer of remote children")
	}
	lab.Hub.Delete(t, cinder)
	lab.Hub.WaitGone(t, harness.ReadyTimeout, cinder)
	lab.Hub.WaitNoChildren(t, harness.ReadyTimeout, cinder)
}
