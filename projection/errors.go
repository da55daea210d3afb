// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/clusters"
)

// Ref names one object.
type Ref struct {
	GroupVersionKind schema.GroupVersionKind
	Namespace, Name  string
	// UID is empty where the object is only intended.
	UID types.UID
	// Terminating tells that the object already carried a deletion timestamp.
	Terminating bool
}

func (r Ref) String() string {
	return fmt.Sprintf("%s %s/%s", r.GroupVersionKind.Kind, r.Namespace, r.Name)
}

// ErrTerminating is what a TerminatingError is: errors.Is finds it.
var ErrTerminating = errors.New("object is being deleted")

// TerminatingError says that an object of ours is being deleted and cannot be
// applied. The caller waits: its disappearance is an event of the child watch.
type TerminatingError struct {
	Object Ref
	// Cluster is how messages name the cluster.
	Cluster string
	// Finalizers are what the deletion waits for, if anything.
	Finalizers []string
}

func (e *TerminatingError) Error() string {
	msg := fmt.Sprintf("%s on %s is being deleted", e.Object, e.Cluster)
	if len(e.Finalizers) > 0 {
		msg += " and waits for " + strings.Join(e.Finalizers, ", ")
	}
	return msg
}

// Is makes errors.Is(err, ErrTerminating) true.
func (e *TerminatingError) Is(target error) bool { return target == ErrTerminating }

// ForeignObjectError says that the name of a child is taken by an object that
// is not ours. Nothing was written.
type ForeignObjectError struct {
	Object Ref
	// Cluster is how messages name the cluster.
	Cluster string
	// Owner says whose it is, as far as the object tells.
	Owner string
}

func (e *ForeignObjectError) Error() string {
	return fmt.Sprintf("%s on %s belongs to %s and is left alone: remove or rename one of the two",
		e.Object, e.Cluster, e.Owner)
}

// wrap adds verb, object and cluster to an error of the API. The typed errors
// of this package say all of that themselves and pass unchanged.
func (s *Scope) wrap(verb string, ref Ref, err error) error {
	if err == nil {
		return nil
	}
	var foreign *ForeignObjectError
	var terminating *TerminatingError
	if errors.As(err, &foreign) || errors.As(err, &terminating) {
		return err
	}
	err = fmt.Errorf("%s %s on %s: %w", verb, ref, s.target, err)
	return s.namespaceError(err)
}

// namespaceError turns the refusals of a namespace that is absent or on its way
// out into the error of a target that cannot serve.
func (s *Scope) namespaceError(err error) error {
	subject := s.target.String()
	if !s.target.IsHub() {
		subject = "target cluster " + subject
	}
	message := ""
	switch {
	case isNamespaceAbsent(err):
		if unavailable, ok := clusters.AsUnavailable(err); ok {
			return unavailable // the connection said it already
		}
		// The hub's says nothing; the words are those of a connection.
		message = fmt.Sprintf("namespace %q does not exist on %s: create it there", s.owner.Namespace, subject)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		message = fmt.Sprintf("%s is deleting the namespace %q: create it anew once it is gone", subject, s.owner.Namespace)
	default:
		return err
	}
	return &clusters.UnavailableError{
		Cluster: s.target.Name(),
		Cause:   clusters.CauseNamespaceAbsent,
		Message: message,
		Err:     err,
	}
}

// isNamespaceAbsent tells the 404 of a missing namespace, which a write into it
// gets, from the 404 of a missing object.
func isNamespaceAbsent(err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}
