// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"
	"strings"
	"time"
)

// The messages of UnavailableErrors stand in conditions: each starts as it does here wherever it comes from, and ends with
// what somebody can do.

func notRegistered(cluster, clustersNamespace string) error {
	next := fmt.Sprintf("create the Secret %s/%s with a kubeconfig and the label sigs.k8s.io/multicluster-runtime-kubeconfig: \"true\"", clustersNamespace, cluster)
	if clustersNamespace == "" {
		next = "target clusters are switched off; start the operator with --clusters-namespace"
	}
	return &UnavailableError{
		Cluster: cluster, Cause: CauseNotRegistered,
		Message: fmt.Sprintf("target cluster %q is not registered in namespace %q: %s", cluster, clustersNamespace, next),
	}
}

func refused(cluster string, refusal *Refusal, registration string) error {
	return &UnavailableError{
		Cluster: cluster, Cause: CauseRefused,
		Message: fmt.Sprintf("target cluster %q is refused: %s; correct the registration %s", cluster, refusal, registration),
	}
}

func connecting(cluster string, cause UnavailableCause, what string, err error) error {
	return &UnavailableError{
		Cluster: cluster, Cause: cause, Err: err,
		Message: fmt.Sprintf("target cluster %q is connecting: %s; its TargetCluster shows how far it got", cluster, what),
	}
}

func unreadRegistrations(cluster string, cause UnavailableCause) error {
	return &UnavailableError{
		Cluster: cluster, Cause: cause,
		Message: fmt.Sprintf("target cluster %q is connecting: the registrations are being read; if that lasts, the operator's log says why they cannot be", cluster),
	}
}

func unavailable(cluster string, cause UnavailableCause, l *loss, err error) error {
	next := "look at its API server and at the network between; it is tried again by itself"
	switch {
	case l.remedy != "":
		next = l.remedy
	case cause == CauseUnauthorized:
		next = "put a valid credential into its registration"
	}
	return &UnavailableError{
		Cluster: cluster, Cause: cause, Err: err,
		Message: fmt.Sprintf("target cluster %q is unreachable since %s: %s; %s", cluster, l.since.UTC().Format(time.RFC3339), l.cause, next),
	}
}

func notPermitted(cluster, hubNamespace, registration string) error {
	return &UnavailableError{
		Cluster: cluster, Cause: CauseNotPermitted,
		Message: fmt.Sprintf("target cluster %q does not admit Cinders of namespace %q: add it to allowedNamespaces of the registration %s", cluster, hubNamespace, registration),
	}
}

func namespaceNotServed(cluster, namespace, registration string, served []string) error {
	return &UnavailableError{
		Cluster: cluster, Cause: CauseNamespaceNotServed,
		Message: fmt.Sprintf("target cluster %q is registered for the namespaces %s only, not for %q: add it to namespaces of the registration %s", cluster, strings.Join(served, ", "), namespace, registration),
	}
}

func namespaceAbsent(cluster, namespace string, err error) error {
	return &UnavailableError{
		Cluster: cluster, Cause: CauseNamespaceAbsent, Err: err,
		Message: fmt.Sprintf("namespace %q does not exist on target cluster %q: create it there", namespace, cluster),
	}
}
