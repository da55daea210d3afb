// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestAClusterIsConnectedWhetherItIsRegisteredBeforeOrAfterTheStart(t *testing.T) {
	f := idleFleet(t)
	f.register("before", kubeconfig(t, targetConfig, ""))
	f.start()
	f.register("after", kubeconfig(t, targetConfig, ""))

	system := &corev1.Namespace{}
	if err := targetAdmin.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, system); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"before", "after"} {
		target := f.connected(name)
		if target.UID() != system.UID || target.Name() != name || target.IsHub() || target.String() != fmt.Sprintf("%q", name) {
			t.Errorf("%s: got %s, UID %s, hub %t; its UID is %s", name, target, target.UID(), target.IsHub(), system.UID)
		}
		tc := f.shows(name, v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
		if tc.Status.Source != v1alpha1.TargetClusterSourceSecret || tc.Status.Server != strings.TrimSuffix(targetConfig.Host, "/") || !strings.HasPrefix(tc.Status.KubernetesVersion, "v1.") {
			t.Errorf("%s shows %+v", name, tc.Status)
		}
		if len(tc.OwnerReferences) != 1 || tc.OwnerReferences[0].Kind != "Secret" || tc.OwnerReferences[0].Name != name {
			t.Errorf("%s is owned by %+v", name, tc.OwnerReferences)
		}
		if f.changed(name) == 0 {
			t.Errorf("nobody was told that %s connected", name)
		}
		if got := f.recorded("Secret/" + name + " Normal ClusterConnected"); len(got) != 1 {
			t.Errorf("events: %v", f.recorded(""))
		}
	}
	if _, err := f.Get(t.Context(), "before"); err != nil {
		t.Errorf("multicluster-runtime's Get: %v", err)
	}
	if _, err := f.Get(t.Context(), "nobody"); !errors.Is(err, multicluster.ErrClusterNotFound) {
		t.Errorf("multicluster-runtime's Get of an unregistered cluster: %v", err)
	}
}

func TestDeregistrationByLabelAndByDeletion(t *testing.T) {
	for _, tt := range []struct {
		name  string
		leave func(t *testing.T, s *corev1.Secret)
	}{
		{"the label is taken off", func(t *testing.T, s *corev1.Secret) {
			delete(s.Labels, v1alpha1.LabelKubeconfig)
			if err := hubAdmin.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}},
		{"the label says something else", func(t *testing.T, s *corev1.Secret) {
			s.Labels[v1alpha1.LabelKubeconfig] = "yes"
			if err := hubAdmin.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}},
		{"the Secret is deleted", func(t *testing.T, s *corev1.Secret) {
			if err := hubAdmin.Delete(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t)
			r := newRelay(t, targetConfig)
			secret := f.register("edge", kubeconfig(t, targetConfig, r.url()))
			target := f.connected("edge")
			f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
			told := f.changed("edge")

			tt.leave(t, secret)
			message := f.unavailable("edge", CauseNotRegistered)
			if want := fmt.Sprintf("target cluster %q is not registered in namespace %q", "edge", f.namespace); !strings.HasPrefix(message, want) {
				t.Errorf("message %q", message)
			}
			eventually(t, 10*time.Second, func(ctx context.Context) error {
				if _, err := f.targetCluster(ctx, "edge"); !apierrors.IsNotFound(err) {
					return fmt.Errorf("the TargetCluster is still there: %w", errNotYet)
				}
				if conns, _ := r.open(); conns != 0 {
					return fmt.Errorf("%d connections are open", conns)
				}
				if n := f.series("edge"); n != 0 {
					return fmt.Errorf("%d series are left", n)
				}
				return nil
			})
			if f.changed("edge") == told {
				t.Error("nobody was told")
			}
			if len(f.recorded("ClusterDisconnected")) != 1 {
				t.Errorf("events: %v", f.recorded(""))
			}
			err := target.APIReader().Get(t.Context(), client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{})
			if _, ok := AsUnavailable(err); !ok {
				t.Errorf("a call over the old Target: %v", err)
			}
		})
	}
}

func TestOnlyAClusterThatWasConnectedIsSaidToBeDisconnected(t *testing.T) {
	f := newFleet(t)
	for name, config := range map[string][]byte{"refused": []byte("{}"), "hole": kubeconfig(t, targetConfig, blackHole(t, true))} {
		secret := f.register(name, config)
		eventually(t, 20*time.Second, func(ctx context.Context) error {
			_, err := f.targetCluster(ctx, name)
			return err
		})
		if err := hubAdmin.Delete(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		f.unavailable(name, CauseNotRegistered)
	}
	if told := f.recorded("ClusterDisconnected"); len(told) != 0 {
		t.Errorf("events: %v", told)
	}
}

func (f *fleet) series(cluster string) int {
	f.t.Helper()
	families, err := f.metrics.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	n := 0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "cluster" && l.GetValue() == cluster {
					n++
				}
			}
		}
	}
	return n
}

// upBySource are the series of a cluster that say whether it serves, by the source of its registration.
func (f *fleet) upBySource(cluster string) map[string]float64 {
	f.t.Helper()
	families, err := f.metrics.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "cinder_operator_target_cluster_up" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["cluster"] == cluster {
				out[labels["source"]] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}

func (f *fleet) up(cluster string) float64 {
	f.t.Helper()
	for _, value := range f.upBySource(cluster) {
		return value
	}
	return -1
}

func TestARefusedRegistrationIsShownWithoutItsValueAndServesOnceCorrected(t *testing.T) {
	f := newFleet(t)
	bad := kubeconfig(t, targetConfig, "", func(_, user fields) { user["exec"] = fields{"command": secretValue} })
	f.register("edge", bad)
	message := f.unavailable("edge", CauseRefused)
	if !strings.HasPrefix(message, `target cluster "edge" is refused: CredentialPluginRefused`) {
		t.Errorf("message %q", message)
	}
	tc := f.shows("edge", v1alpha1.ConditionAccepted, v1alpha1.ReasonCredentialPluginRefused)
	ready := meta.FindStatusCondition(tc.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonCredentialPluginRefused {
		t.Errorf("Ready is %+v", ready)
	}
	events := f.recorded("Secret/edge Warning ClusterRefused")
	if len(events) != 1 || !strings.Contains(events[0], "users[0].user.exec") {
		t.Errorf("events: %v", f.recorded(""))
	}
	for _, text := range append(f.recorded(""), message, fmt.Sprint(tc.Status.Conditions)) {
		if strings.Contains(text, secretValue) {
			t.Errorf("a value is shown: %s", text)
		}
	}

	f.register("edge", kubeconfig(t, targetConfig, ""))
	f.connected("edge")
	f.shows("edge", v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted)

	t.Run("and a connected cluster whose registration turns bad serves no longer, and is not deregistered", func(t *testing.T) {
		f.register("edge", nil)
		f.unavailable("edge", CauseRefused)
		f.shows("edge", v1alpha1.ConditionAccepted, v1alpha1.ReasonKubeconfigMissing)
		if _, err := f.ResolveForDeletion(t.Context(), &v1alpha1.TargetClusterRefSpec{Name: "edge"}, "default"); err == nil {
			t.Error("it resolves for a deletion")
		}
		if f.up("edge") != 0 {
			t.Errorf("up is %v", f.up("edge"))
		}
	})
}

func TestResolveKeepsToAllowedNamespacesExceptForDeletion(t *testing.T) {
	f := newFleet(t)
	f.register("edge", kubeconfig(t, targetConfig, ""), map[string]string{"allowedNamespaces": "default,team"})
	f.connected("edge")
	_, err := f.resolve("edge", "other")
	u, ok := AsUnavailable(err)
	if !ok || u.Cause != CauseNotPermitted || !strings.HasPrefix(u.Message, `target cluster "edge" does not admit Cinders of namespace "other"`) {
		t.Errorf("got %v", err)
	}
	if _, err := f.ResolveForDeletion(t.Context(), &v1alpha1.TargetClusterRefSpec{Name: "edge"}, "other"); err != nil {
		t.Errorf("for a deletion: %v", err)
	}
	tc := f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	if got := strings.Join(tc.Status.AllowedNamespaces, ","); got != "default,team" {
		t.Errorf("the TargetCluster shows %q", got)
	}

	told := f.changed("edge")
	before := f.connected("edge")
	f.register("edge", kubeconfig(t, targetConfig, ""), map[string]string{"allowedNamespaces": "*"})
	eventually(t, 10*time.Second, func(context.Context) error {
		_, err := f.resolve("edge", "other")
		return err
	})
	eventually(t, 10*time.Second, func(context.Context) error {
		if f.changed("edge") == told {
			return errNotYet
		}
		return nil
	})
	if f.connected("edge") != before {
		t.Error("a change of allowedNamespaces made a new connection")
	}
}

func TestWithoutAListNobodyIsAdmittedWhereListsAreRequired(t *testing.T) {
	f := newFleet(t, func(o *Options) { o.RequireAllowedNamespaces = true })
	f.register("edge", kubeconfig(t, targetConfig, ""))
	f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	f.unavailable("edge", CauseNotPermitted)
}

func TestARegistrationLimitedToNamespacesServesThoseOnly(t *testing.T) {
	f := newFleet(t)
	inside, outside := newNamespace(t, targetAdmin), newNamespace(t, targetAdmin)
	f.register("edge", kubeconfig(t, targetConfig, ""), map[string]string{"namespaces": inside})
	var target Target
	eventually(t, 20*time.Second, func(context.Context) error {
		var err error
		target, err = f.resolve("edge", inside)
		return err
	})
	for _, resolve := range []func(context.Context, *v1alpha1.TargetClusterRefSpec, string) (Target, error){f.Resolve, f.ResolveForDeletion} {
		_, err := resolve(t.Context(), &v1alpha1.TargetClusterRefSpec{Name: "edge"}, outside)
		u, ok := AsUnavailable(err)
		if !ok || u.Cause != CauseNamespaceNotServed || !strings.Contains(u.Message, fmt.Sprintf("%q", outside)) {
			t.Errorf("got %v", err)
		}
	}
	child(t, outside, "beyond")
	child(t, inside, "within")
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		return target.Client().Get(ctx, client.ObjectKey{Namespace: inside, Name: "within"}, &corev1.ConfigMap{})
	})
	var list corev1.ConfigMapList
	if err := target.Client().List(t.Context(), &list, client.InNamespace(inside)); err != nil || len(list.Items) != 1 {
		t.Errorf("a list: %d, %v", len(list.Items), err)
	}
	if n := f.saw("edge", "beyond", false) + f.saw("edge", "beyond", true); n != 0 {
		t.Errorf("%d events from a namespace that is not listed", n)
	}
	tc := f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	if len(tc.Status.Namespaces) != 1 || tc.Status.Namespaces[0] != inside {
		t.Errorf("the TargetCluster shows %v", tc.Status.Namespaces)
	}
}

func TestWithoutAClustersNamespaceNothingIsRegistered(t *testing.T) {
	f := newFleet(t, func(o *Options) { o.ClustersNamespace = "" })
	_, err := f.resolve("edge", "default")
	u, ok := AsUnavailable(err)
	if !ok || u.Cause != CauseNotRegistered || !strings.Contains(u.Message, "--clusters-namespace") {
		t.Errorf("got %v", err)
	}
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		_, err := f.Resolve(ctx, nil, "default")
		return err
	})
}

func TestBeforeRegistrationsAreReadNobodyIsCalledUnregistered(t *testing.T) {
	f := idleFleet(t)
	_, err := f.resolve("nobody", "default")
	if u, ok := AsUnavailable(err); !ok || u.Cause != CauseStarting {
		t.Fatalf("before the start: %v", err)
	}
	f.start()
	f.unavailable("nobody", CauseNotRegistered)
	eventually(t, 10*time.Second, func(context.Context) error {
		if f.changed("nobody") == 0 {
			return fmt.Errorf("who waits for it was not told: %w", errNotYet)
		}
		return nil
	})
}

func TestADeletedTargetClusterIsWrittenAgainAndAForgedOneRemoved(t *testing.T) {
	f := newFleet(t)
	f.register("edge", kubeconfig(t, targetConfig, ""))
	tc := f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	if err := hubAdmin.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		again, err := f.targetCluster(ctx, "edge")
		switch {
		case err != nil:
			return err
		case again.UID == tc.UID, !meta.IsStatusConditionTrue(again.Status.Conditions, v1alpha1.ConditionReady):
			return errNotYet
		}
		return nil
	})
	forged := &v1alpha1.TargetCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "forged"}}
	if err := hubAdmin.Create(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		if _, err := f.targetCluster(ctx, "forged"); !apierrors.IsNotFound(err) {
			return errNotYet
		}
		return nil
	})
}

func TestAFleetThatStandsStillWritesNothing(t *testing.T) {
	f := newFleet(t, func(o *Options) {
		o.CountOwners = func(context.Context, string) (int, error) { return 7, nil }
	})
	f.register("edge", kubeconfig(t, targetConfig, ""))
	f.connected("edge")
	before := f.shows("edge", v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
	if before.Status.Cinders != 7 {
		t.Errorf("it shows %d Cinders", before.Status.Cinders)
	}
	told := f.changed("edge")
	probed := f.probes("edge")
	eventually(t, 20*time.Second, func(context.Context) error {
		if f.probes("edge") < probed+10 {
			return errNotYet
		}
		return nil
	})
	after, err := f.targetCluster(t.Context(), "edge")
	if err != nil {
		t.Fatal(err)
	}
	if before.ResourceVersion != after.ResourceVersion {
		t.Errorf("the TargetCluster was written: %+v, then %+v", before.Status, after.Status)
	}
	if n := f.changed("edge"); n != told {
		t.Errorf("Cinders were enqueued %d times by a cluster that stood still", n-told)
	}
}

func (f *fleet) probes(cluster string) uint64 {
	f.t.Helper()
	families, err := f.metrics.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "cinder_operator_target_cluster_probe_duration_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == cluster {
				return m.GetHistogram().GetSampleCount()
			}
		}
	}
	return 0
}
