// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
)

// named is a target of which only the identity matters.
type named struct {
	clusters.Target
	uid        types.UID
	hub        bool
	connection int
}

// answering resolves every reference to one target.
type answering struct {
	Registry
	target clusters.Target
}

func (a answering) Resolve(context.Context, *v1alpha1.TargetClusterRefSpec, string) (clusters.Target, error) {
	return a.target, nil
}

func (n named) Name() string   { return "edge" }
func (n named) UID() types.UID { return n.uid }
func (n named) IsHub() bool    { return n.hub }

func TestTheIdentityOfAClusterIsCheckedNotItsName(t *testing.T) {
	t.Parallel()
	known := &v1alpha1.TargetClusterStatusRef{Name: "edge", UID: "old"}
	const nobody = types.UID("sha256-0123456789abcdef")
	accepted := map[string]string{v1alpha1.AnnotationAcceptCluster: "new"}
	for name, c := range map[string]struct {
		known       *v1alpha1.TargetClusterStatusRef
		annotations map[string]string
		target      named
		held        bool
	}{
		"nothing was ever applied":         {nil, nil, named{uid: "new"}, false},
		"the same cluster":                 {known, nil, named{uid: "old"}, false},
		"another cluster":                  {known, nil, named{uid: "new"}, true},
		"another cluster, accepted":        {known, accepted, named{uid: "new"}, false},
		"a third one was accepted":         {known, accepted, named{uid: "third"}, true},
		"one that does not say":            {known, nil, named{uid: nobody}, true},
		"a hub that was rebuilt is itself": {known, nil, named{uid: "new", hub: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cr := &v1alpha1.Cinder{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}}
			cr.Status.TargetCluster = c.known
			err := checkIdentity(cr, c.target)
			u, ok := clusters.AsUnavailable(err)
			if ok != c.held {
				t.Fatalf("error is %v", err)
			}
			if c.held && (!strings.Contains(u.Message, "old") || !strings.Contains(u.Message, string(c.target.uid))) {
				t.Errorf("message %q does not name both", u.Message)
			}
			if c.held && strings.Contains(u.Message, "kube-system, without which") != (c.target.uid == nobody) {
				t.Errorf("message %q, of a cluster that does not say who it is: %t", u.Message, c.target.uid == nobody)
			}
		})
	}
}
