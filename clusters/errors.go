// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import "errors"

// UnavailableCause tells the ways apart in which a target cluster cannot serve.
type UnavailableCause string

const (
	// CauseStarting says that the first connection attempt since the process started has
	// not ended, or the registrations were not read yet, or that somebody is already
	// waiting for an answer that does not come. The caller writes nothing and waits
	// for Changes.
	CauseStarting UnavailableCause = "Starting"
	// CauseNotRegistered says that there is no registration of that name.
	CauseNotRegistered UnavailableCause = "NotRegistered"
	// CauseRefused says that the registration was refused.
	CauseRefused UnavailableCause = "Refused"
	// CauseConnecting says that the connection is being built.
	CauseConnecting UnavailableCause = "Connecting"
	// CauseUnreachable says that the connection was lost.
	CauseUnreachable UnavailableCause = "Unreachable"
	// CauseUnauthorized says that the cluster answers 401.
	CauseUnauthorized UnavailableCause = "Unauthorized"
	// CauseNotPermitted says that allowedNamespaces does not list the hub namespace.
	CauseNotPermitted UnavailableCause = "NotPermitted"
	// CauseNamespaceNotServed says that the registration's namespaces do not list it.
	CauseNamespaceNotServed UnavailableCause = "NamespaceNotServed"
	// CauseNamespaceAbsent says that the namespace does not exist on the target.
	CauseNamespaceAbsent UnavailableCause = "NamespaceAbsent"
)

// UnavailableError says why a target cluster cannot serve. Its text is the
// message of the condition: it starts as the specification words it and names
// the next step.
type UnavailableError struct {
	Cluster string
	Cause   UnavailableCause
	Message string
	// Err is the error underneath, if any.
	Err error
}

func (e *UnavailableError) Error() string { return e.Message }

func (e *UnavailableError) Unwrap() error { return e.Err }

// AsUnavailable finds an UnavailableError in err's chain. Connection errors of
// a target's calls carry one.
func AsUnavailable(err error) (*UnavailableError, bool) {
	var u *UnavailableError
	ok := errors.As(err, &u)
	return u, ok
}
