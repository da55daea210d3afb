// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// identity tells one cluster from another behind the same name: the UID of its kube-system namespace, or what stands in
// for it where that namespace may not be read.
func identity(ctx context.Context, reader client.Reader, server string, ca []byte) (types.UID, error) {
	ns := &corev1.Namespace{}
	err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns)
	switch {
	case err == nil:
		return ns.UID, nil
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return standIn(server, ca), nil
	}
	return "", fmt.Errorf("get Namespace %s: %w", metav1.NamespaceSystem, err)
}

// standIn is the identity of a cluster whose kube-system namespace may not be read: a hash of the server and its CA.
func standIn(server string, ca []byte) types.UID {
	sum := sha256.New()
	sum.Write([]byte(server))
	sum.Write([]byte{0})
	sum.Write(ca)
	return types.UID("sha256-" + hex.EncodeToString(sum.Sum(nil))[:32])
}

// SameCluster tells whether the target is the cluster that had the UID once. An account that may read kube-system today
// and might not then does not make its cluster another one.
func SameCluster(t Target, uid types.UID) bool {
	if uid == t.UID() {
		return true
	}
	c, ok := t.(*connection)
	return ok && uid == standIn(c.reg.Server.String(), c.reg.CA)
}

// errAnotherCluster says that another cluster answers than the one that was connected to.
var errAnotherCluster = errors.New("another cluster answers there now")

// sameCluster asks who answers, if a socket was opened since that was last asked: an address, a name or a load balancer may
// lead elsewhere from one socket to the next. A cluster that will not say is taken for the same.
func (c *connection) sameCluster(ctx context.Context) error {
	opened := c.rt.sockets.opened.Load()
	if opened == c.identified.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timing.ProbeTimeout, errDeadline)
	defer cancel()
	uid, err := identity(ctx, c.cluster.GetAPIReader(), c.reg.Server.String(), c.reg.CA)
	if err != nil {
		return err
	}
	unsaid := standIn(c.reg.Server.String(), c.reg.CA)
	if uid != c.uid && uid != unsaid && c.uid != unsaid {
		return errAnotherCluster
	}
	c.identified.Store(opened)
	return nil
}
