// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// verdict says whose an object is.
type verdict struct {
	ours bool
	// takeover: the object is ours, but other managers hold its fields and we
	// none, so that they are to be dropped before the first apply.
	takeover bool
	// owner describes whose it is where it is not ours.
	owner string
}

// oursByLabels decides from what a cache holds, which strips the managed
// fields. False means that a live read has to decide.
func (s *Scope) oursByLabels(o metav1.Object) bool {
	return o.GetNamespace() == s.owner.Namespace && (s.labelsMatch(o) || s.controls(o))
}

func (s *Scope) labelsMatch(o metav1.Object) bool {
	have := o.GetLabels()
	for _, k := range ownerLabels {
		if have[k] != s.labels[k] {
			return false
		}
	}
	return true
}

// controls tells whether an object of the hub carries a controller owner
// reference to the owner.
func (s *Scope) controls(o metav1.Object) bool {
	ref := metav1.GetControllerOf(o)
	return s.target.IsHub() && ref != nil && ref.UID == s.owner.UID
}

// judge decides from an object as the API server holds it.
func (s *Scope) judge(ref Ref, o metav1.Object) verdict {
	managers := readManagers(o, ref.GroupVersionKind.GroupVersion().String())
	ours := verdict{ours: true, takeover: !managers.applied(s.p.manager) && managers.others(s.p.manager)}
	if s.oursByLabels(o) {
		return ours
	}
	foreign := verdict{owner: s.describeOwner(o, managers)}
	if o.GetNamespace() != s.owner.Namespace {
		return foreign
	}
	have := o.GetLabels()
	if s.ownerNamed(have) && have[LabelOwnerHub] == "" {
		// Either an operator without the hub label wrote it, or the hub label was
		// taken off: then the field manager tells whose it was.
		if managers.applied(s.p.manager) || !managers.anyHub() {
			return ours
		}
		return foreign
	}
	if managers.applied(s.p.manager) && !s.contradicted(ref, o, managers) {
		return ours
	}
	return foreign
}

// ownerNamed tells whether the three labels other than the hub's match.
func (s *Scope) ownerNamed(have map[string]string) bool {
	for _, k := range []string{LabelOwnerKind, LabelOwnerName, LabelOwnerNamespace} {
		if have[k] != s.labels[k] {
			return false
		}
	}
	return true
}

// contradicted tells whether an object that this hub once applied belongs to
// another owner. Two owners of one hub may come to the same child name, and
// share the field manager. A label of another value speaks for another owner if
// a hub applied it; a value that somebody edited by hand is drift.
func (s *Scope) contradicted(ref Ref, o metav1.Object, managers managers) bool {
	have := o.GetLabels()
	for _, k := range ownerLabels {
		if v, present := have[k]; present && v != s.labels[k] && managers.hubOwnsLabel(k) {
			return true
		}
	}
	if c := metav1.GetControllerOf(o); c != nil && s.target.IsHub() && c.UID != s.owner.UID {
		return true
	}
	// With every label gone only this process may still know whose it was.
	last, known := s.p.keys.get(s.key(ref))
	return known && last.uid == o.GetUID() && last.owner.String() != s.owner.String()
}

// foreignController names the controller that an apply on the hub would have to
// share the object with, which the API forbids. An earlier incarnation of the
// owner does not count: its reference is replaced.
func (s *Scope) foreignController(o metav1.Object) (string, bool) {
	c := metav1.GetControllerOf(o)
	if c == nil || !s.target.IsHub() || c.UID == s.owner.UID {
		return "", false
	}
	if c.APIVersion == s.owner.APIVersion && c.Kind == s.owner.Kind && c.Name == s.owner.Name {
		return "", false
	}
	return c.Kind + " " + c.Name, true
}

// describeOwner says whose an object is in the words it gives itself.
func (s *Scope) describeOwner(o metav1.Object, managers managers) string {
	have := o.GetLabels()
	if name := have[LabelOwnerName]; name != "" {
		owner := fmt.Sprintf("%s %s/%s", have[LabelOwnerKind], have[LabelOwnerNamespace], name)
		hub := have[LabelOwnerHub]
		if hub == "" {
			hub = managers.hub()
		}
		if hub != "" && hub != s.p.hubUID {
			owner += " of the hub " + hub
		}
		return strings.TrimSpace(owner)
	}
	if c := metav1.GetControllerOf(o); c != nil {
		return c.Kind + " " + c.Name
	}
	if hub := managers.hub(); hub != "" && hub != s.p.hubUID {
		return "the hub " + hub
	}
	if m := managers.first(); m != "" {
		return fmt.Sprintf("somebody else (field manager %q)", m)
	}
	return "somebody else"
}

func (s *Scope) foreign(ref Ref, owner string) error {
	return &ForeignObjectError{Object: ref, Cluster: s.target.String(), Owner: owner}
}

func (s *Scope) terminating(ref Ref, o client.Object) error {
	ref.UID, ref.Terminating = o.GetUID(), true
	return &TerminatingError{Object: ref, Cluster: s.target.String(), Finalizers: o.GetFinalizers()}
}
