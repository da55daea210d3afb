// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package fleetsample

import (
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// What the sample names.
const (
	target    = "edge-1"
	namespace = "openstack"
)

// fleet is the sample, applied and Ready.
type fleet struct {
	*testing.T
	edge     *harness.Cluster
	operator *harness.Operator
	cinder   *v1alpha1.Cinder
	backends map[string]*v1alpha1.CinderBackend
	backup   *v1alpha1.CinderBackupBackend
	// keys are all that were ever put into a Secret: none may be told.
	keys []string
}

func applied(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{T: t, edge: lab.Targets[target], backends: map[string]*v1alpha1.CinderBackend{}}
	// The lab's API servers do not publish where they are, which a network policy asks.
	lab.Register(t, target, f.edge, func(s *corev1.Secret) { s.Data[v1alpha1.RegistrationKeyAPIServerCIDRs] = []byte("192.0.2.200/32") })
	lab.Namespace(t, namespace)
	f.operator = lab.StartOperator(t)
	f.edge.ApplySample(t, "fleet/prerequisites.yaml")
	for _, user := range []string{"cinder-a", "cinder-b", "cinder-backup"} {
		s := &corev1.Secret{}
		f.edge.Get(t, f.key("ceph-client-"+user), s)
		f.keys = append(f.keys, string(s.Data["userKey"]))
	}

	f.cinder = &v1alpha1.Cinder{ObjectMeta: f.named("cinder")}
	f.backup = &v1alpha1.CinderBackupBackend{ObjectMeta: f.named("rbd-backups")}
	t.Cleanup(func() { lab.Remove(t, f.cinder) })
	all := []client.Object{f.backup}
	for _, name := range []string{"nfs-a", "nfs-b", "rbd-a", "rbd-b"} {
		f.backends[name] = &v1alpha1.CinderBackend{ObjectMeta: f.named(name)}
		all = append(all, f.backends[name])
	}
	for _, obj := range all {
		t.Cleanup(func() { lab.Remove(t, obj) })
	}
	lab.Hub.ApplySample(t, "fleet/cinder.yaml")
	for _, obj := range append(all, f.cinder) {
		lab.WaitReady(t, harness.ReadyTimeout, obj)
	}
	return f
}

func (f *fleet) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func (f *fleet) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// cephKey is a usable key.
func (f *fleet) cephKey(seed string) string {
	key := base64.StdEncoding.EncodeToString([]byte("a key of " + seed))
	f.keys = append(f.keys, key)
	return key
}

// files are those that the pods of a Deployment mount from projection Secrets:
// path to content. ConfigMaps are left out.
func (f *fleet) files(ctx context.Context, deployment string) (map[string]string, error) {
	d := &appsv1.Deployment{}
	if err := f.edge.Client.Get(ctx, f.key(deployment), d); err != nil {
		return nil, err
	}
	pod := &d.Spec.Template.Spec
	files := map[string]string{}
	for _, mount := range pod.Containers[0].VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 {
			return nil, fmt.Errorf("nothing is called %s", mount.Name)
		}
		for name, items := range mounted(&pod.Volumes[i]) {
			s := &corev1.Secret{}
			if err := f.edge.Client.Get(ctx, f.key(name), s); err != nil {
				return nil, err
			}
			for _, item := range items {
				file := path.Join(mount.MountPath, item.Path)
				if _, twice := files[file]; twice {
					return nil, fmt.Errorf("%s is there twice", file)
				}
				files[file] = string(s.Data[item.Key])
			}
		}
	}
	return files, nil
}

// mounted are the Secrets of a volume and which of their keys it shows.
func mounted(v *corev1.Volume) map[string][]corev1.KeyToPath {
	secrets := map[string][]corev1.KeyToPath{}
	if v.Secret != nil {
		secrets[v.Secret.SecretName] = v.Secret.Items
	}
	if v.Projected != nil {
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				secrets[source.Secret.Name] = append(secrets[source.Secret.Name], source.Secret.Items...)
			}
		}
	}
	return secrets
}

// pods are the UIDs of the Cinder's running pods by component. A Job's are none
// of them.
func (f *fleet) pods() map[string]string {
	f.Helper()
	list := &corev1.PodList{}
	if err := f.edge.Client.List(f.Context(), list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/instance": "cinder"}); err != nil {
		f.Fatal(err)
	}
	uids := map[string][]string{}
	for i := range list.Items {
		pod := &list.Items[i]
		if component := pod.Labels["app.kubernetes.io/component"]; pod.DeletionTimestamp == nil && component != "job" {
			uids[component] = append(uids[component], string(pod.UID))
		}
	}
	out := map[string]string{}
	for component, of := range uids {
		slices.Sort(of)
		out[component] = strings.Join(of, " ")
	}
	return out
}

// expectRolled waits until the pods of exactly these components are other ones
// and everything is Ready again.
func (f *fleet) expectRolled(before map[string]string, want ...string) {
	f.Helper()
	var rolled []string
	harness.Eventually(f, harness.ReadyTimeout, fmt.Sprintf("%v roll", want), func(context.Context) error {
		rolled = nil
		now := f.pods()
		for component := range before {
			if now[component] != "" && now[component] != before[component] {
				rolled = append(rolled, component)
			}
		}
		slices.Sort(rolled)
		for _, component := range want {
			if !slices.Contains(rolled, component) {
				return fmt.Errorf("only %v did", rolled)
			}
		}
		return nil
	})
	lab.WaitReady(f, harness.ReadyTimeout, f.cinder)
	if !slices.Equal(rolled, want) {
		f.Errorf("%v rolled, want %v", rolled, want)
	}
}

// projections are the names of the Secrets of a base.
func (f *fleet) projections(ctx context.Context, base string) ([]string, error) {
	list := &corev1.SecretList{}
	err := f.edge.Client.List(ctx, list, client.InNamespace(namespace), client.HasLabels{"openstack.c5c3.io/owner-name"})
	var names []string
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, base+"-") {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, err
}

// expectSwept waits until neither the Deployment nor a Secret of the base is left.
func (f *fleet) expectSwept(deployment, base string) {
	f.Helper()
	f.edge.WaitGone(f, harness.ReadyTimeout, &appsv1.Deployment{ObjectMeta: f.named(deployment)})
	f.expectNoProjection(base)
}

func (f *fleet) expectNoProjection(base string) {
	f.Helper()
	harness.Eventually(f, harness.ReadyTimeout, "no Secret "+base, func(ctx context.Context) error {
		names, err := f.projections(ctx, base)
		if err == nil && len(names) > 0 {
			err = fmt.Errorf("there are %v", names)
		}
		return err
	})
}

// expectNoKeyTold fails when a condition, an event or a log line carries a key.
func (f *fleet) expectNoKeyTold() {
	f.Helper()
	list := &eventsv1.EventList{}
	if err := lab.Hub.Client.List(f.Context(), list, client.InNamespace(namespace)); err != nil {
		f.Fatal(err)
	}
	if len(list.Items) == 0 {
		f.Error("no event was told at all")
	}
	told := f.operator.Log(f)
	for i := range list.Items {
		told += list.Items[i].Note
	}
	satellites := []client.Object{f.cinder, f.backup}
	for _, b := range f.backends {
		satellites = append(satellites, b)
	}
	for _, obj := range satellites {
		for _, c := range harness.Conditions(obj) {
			told += c.Message
		}
	}
	for _, key := range f.keys {
		if strings.Contains(told, key) {
			f.Errorf("key %s is told", key)
		}
	}
}
