// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/test/e2e/harness"
)

// scene is one Cinder with its children on a target, under a registration and in
// a namespace of the test's own.
type scene struct {
	*testing.T
	target       *harness.Cluster
	ns           string
	registration *corev1.Secret
	cinder       *v1alpha1.Cinder
	satellites   []client.Object
	// children are what the Cinder had when it was deployed.
	children []string
	mark     harness.Mark
}

// deploy brings the Cinder to where it has all of its children. The name is that
// of the registration and of the namespace.
func deploy(t *testing.T, name string, target *harness.Cluster, change ...func(*corev1.Secret)) *scene {
	t.Helper()
	s := &scene{T: t, target: target, ns: lab.Namespace(t, name, target), mark: target.Mark(t)}
	s.registration = lab.Register(t, name, target, change...)
	s.cinder = harness.Cinder(s.ns, "cinder", name)
	backend, backup := lab.Deploy(t, s.cinder)
	s.satellites = []client.Object{backend, backup}
	lab.WaitReady(t, 2*harness.ReadyTimeout, s.cinder)
	s.children = s.list()
	if !slices.Contains(s.children, "Deployment/cinder") || !slices.Contains(s.children, "Deployment/cinder-volume-cinder-nfs") {
		t.Fatalf("the children are %v", s.children)
	}
	s.sweptNothing()
	return s
}

func (s *scene) list() []string {
	s.Helper()
	have, err := s.target.Children(s.Context(), s.cinder)
	if err != nil {
		s.Fatal(err)
	}
	return have
}

// sweptNothing reads the target's audit log: nothing was deleted so far.
func (s *scene) sweptNothing() {
	s.Helper()
	for _, r := range s.mark.Writes(s) {
		if strings.HasPrefix(r.Verb, "delete") && r.ObjectRef.Namespace == s.ns {
			s.Errorf("%s %s, although the Cinder is not to be swept", r.Verb, r.RequestURI)
		}
	}
}

// set changes the registration.
func (s *scene) set(key, value string) {
	s.Helper()
	harness.Change(s, lab.Hub, s.registration, func(r *corev1.Secret) { r.Data[key] = []byte(value) })
}

// kubeconfig replaces the registered kubeconfig and returns what it was.
func (s *scene) kubeconfig(value string) (was string) {
	s.Helper()
	was = string(s.registration.Data[v1alpha1.RegistrationKeyKubeconfig])
	s.set(v1alpha1.RegistrationKeyKubeconfig, value)
	return was
}

func (s *scene) deregister() {
	s.Helper()
	lab.Hub.Delete(s, s.registration)
}

func (s *scene) registerAgain(change ...func(*corev1.Secret)) {
	s.Helper()
	s.registration = lab.Register(s, s.registration.Name, s.target, change...)
}

// inNamespace limits a registration to the test's namespace.
func (s *scene) inNamespace(r *corev1.Secret) {
	r.Data[v1alpha1.RegistrationKeyNamespaces] = []byte(s.ns)
}

// away waits until the living Cinder says that its cluster is.
func (s *scene) away(message string) {
	s.Helper()
	lab.WaitFor(s, time.Minute, s.cinder, unavailable(message))
}

func (s *scene) delete() {
	s.Helper()
	lab.Hub.Delete(s, s.cinder.DeepCopy())
}

func unavailable(message string) harness.Want {
	return harness.Want{Type: v1alpha1.ConditionSecretsReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTargetClusterUnavailable, Message: message}
}

func annotate(t testing.TB, cr *v1alpha1.Cinder, key, value string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value))
	if err := lab.Hub.Client.Patch(t.Context(), cr, patch); err != nil {
		t.Fatal(err)
	}
}

// held waits until the deleted Cinder says why it stays and how that is ended.
// Then it looks on for d; a pass is provoked at half time.
func (s *scene) held(message string, d time.Duration) {
	s.Helper()
	lab.WaitFor(s, time.Minute, s.cinder, unavailable(message), unavailable(v1alpha1.AnnotationAbandonChildren+"=true"))
	s.stays(d/2, message)
	annotate(s, s.cinder, "test.example.org/poke", time.Now().Format(time.RFC3339Nano))
	s.stays(d/2, message)
	s.sweptNothing()
}

func (s *scene) stays(d time.Duration, message string) {
	s.Helper()
	harness.Consistently(s, d, "the Cinder is held", func(ctx context.Context) error {
		if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(s.cinder), s.cinder); err != nil {
			return err
		}
		for _, f := range []string{v1alpha1.FinalizerCinder, v1alpha1.FinalizerRemoteChildren} {
			if !slices.Contains(s.cinder.Finalizers, f) {
				return fmt.Errorf("finalizers are %v", s.cinder.Finalizers)
			}
		}
		for _, c := range s.cinder.Status.Conditions {
			if c.Type == v1alpha1.ConditionSecretsReady && (c.Reason != v1alpha1.ReasonTargetClusterUnavailable || !strings.Contains(c.Message, message)) {
				return fmt.Errorf("SecretsReady says %s: %s", c.Reason, c.Message)
			}
		}
		return nil
	})
}

// pastBothWindows is how long a Cinder is looked at that nothing may give up.
const pastBothWindows = abandonAfter + 2*time.Second

// swept waits until the Cinder and its children are gone, and finds that nothing
// was given up.
func (s *scene) swept() {
	s.Helper()
	lab.Hub.WaitGone(s, time.Minute, s.cinder)
	s.target.WaitNoChildren(s, 30*time.Second, s.cinder)
	for _, e := range s.events() {
		if e.Reason == "RemoteChildrenAbandoned" {
			s.Errorf("children were given up: %s", e.Note)
		}
	}
	lab.WaitTold(s, 10*time.Second, s.cinder, "DatabaseFinalized")
}

// givenUp waits until the Cinder is gone, and finds its children where they were,
// named in one Warning and in the log.
func (s *scene) givenUp(op *harness.Operator, within time.Duration) {
	s.Helper()
	lab.Hub.WaitGone(s, within, s.cinder)
	lab.WaitTold(s, 10*time.Second, s.cinder, "RemoteChildrenAbandoned")
	var notes []string
	for _, e := range s.events() {
		if e.Reason == "RemoteChildrenAbandoned" && e.Type == corev1.EventTypeWarning {
			notes = append(notes, e.Note)
		}
	}
	if len(notes) != 1 {
		s.Fatalf("%d warnings: %q", len(notes), notes)
	}
	for _, part := range []string{"namespace " + s.ns, fmt.Sprintf("%q", s.registration.Name), "Deployment cinder", "Deployment cinder-volume-cinder-nfs", "Service cinder"} {
		if !strings.Contains(notes[0], part) {
			s.Errorf("the warning does not name %s: %s", part, notes[0])
		}
	}
	line := ""
	for l := range strings.Lines(op.Log(s)) {
		if strings.Contains(l, "children abandoned") && strings.Contains(l, fmt.Sprintf(`"namespace":%q`, s.ns)) {
			line = l
		}
	}
	for _, child := range s.children {
		kind, name, _ := strings.Cut(child, "/")
		if kind == "ConfigMap" || kind == "Secret" && strings.Count(name, "-") > 2 {
			// Content-addressed: named by what their names begin with.
			name = name[:strings.LastIndex(name, "-")]
		}
		if !strings.Contains(line, name) || !strings.Contains(line, kind) {
			s.Errorf("the log does not name %s: %q", child, line)
		}
	}
	s.sweptNothing()
	s.untouched()
}

// untouched finds every child where it was.
func (s *scene) untouched() {
	s.Helper()
	now := s.list()
	for _, child := range s.children {
		if !slices.Contains(now, child) {
			s.Errorf("%s is gone; left are %v", child, now)
		}
	}
}

// events are those on the Cinder.
func (s *scene) events() []eventsv1.Event {
	s.Helper()
	list := &eventsv1.EventList{}
	if err := lab.Hub.Client.List(s.Context(), list, client.InNamespace(s.ns)); err != nil {
		s.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != s.cinder.UID })
}
