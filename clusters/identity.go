// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

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
	return types.UID(standInPrefix + hex.EncodeToString(sum.Sum(nil))[:32])
}

const standInPrefix = "sha256-"

// IsStandIn tells whether the identity of a cluster stands in for the UID of a kube-system namespace that may not be read.
func IsStandIn(uid types.UID) bool { return strings.HasPrefix(string(uid), standInPrefix) }

// SameCluster tells whether the target is the cluster that had the UID once. An account that may read kube-system today
// and might not then does not make its cluster another one.
func SameCluster(t Target, uid types.UID) bool {
	if uid == t.UID() {
		return true
	}
	c, ok := t.(*connection)
	return ok && uid == standIn(c.reg.Server.String(), c.reg.CA)
}

// identify asks the cluster who it is, before anything is read or written in its name.
func (c *connection) identify(ctx context.Context) error {
	c.identified.Store(c.rt.sockets.opened.Load())
	uid, code, over, err := c.rt.who(ctx)
	switch {
	case err != nil:
		return err
	case code != http.StatusOK:
		c.uid = standIn(c.reg.Server.String(), c.reg.CA)
		return nil
	}
	c.uid = uid
	if over != nil {
		over.vouched.Store(true)
	}
	c.rt.identified(uid)
	return nil
}

// sameCluster asks who answers, if a socket was opened since that was last asked: whoever took the cluster's place is
// noticed before anybody wants something of it.
func (c *connection) sameCluster(ctx context.Context) error {
	opened := c.rt.sockets.opened.Load()
	if opened == c.identified.Load() && !c.rt.stranger() {
		return nil
	}
	if err := c.rt.ask(ctx); err != nil {
		return err
	}
	c.identified.Store(opened)
	return nil
}
