// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/projection"
)

func TestANamespaceAbsentOnTheTargetIsUnavailableAndNamed(t *testing.T) {
	f := onTarget(t)
	owner := f.owner.DeepCopy()
	owner.Namespace = f.ns + "-absent"
	target := newTarget(t, edge, owner.Namespace, hubA)
	for _, s := range samples() {
		_, err := projection.Apply(f.ctx, f.scopeOf(f.p, target, owner), s.make("child"))
		unavailable, ok := clusters.AsUnavailable(err)
		if !ok || unavailable.Cause != clusters.CauseNamespaceAbsent || unavailable.Cluster != edge {
			t.Fatalf("%s: got %v", s.kind, err)
		}
		want := fmt.Sprintf(`namespace %q does not exist on target cluster "edge-1": create it there`, owner.Namespace)
		if unavailable.Message != want {
			t.Errorf("%s: message %q, want %q", s.kind, unavailable.Message, want)
		}
	}
}

func TestANamespaceOnItsWayOutIsUnavailableAndNamed(t *testing.T) {
	f := onTarget(t)
	// Without a namespace controller it stays Terminating.
	if err := f.admin.Delete(f.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.ns}}); err != nil {
		t.Fatal(err)
	}
	_, err := projection.Apply(f.ctx, f.scope, secret("child"))
	unavailable, ok := clusters.AsUnavailable(err)
	if !ok || unavailable.Cause != clusters.CauseNamespaceAbsent {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(unavailable.Message, "deleting") || !strings.Contains(unavailable.Message, f.ns) {
		t.Errorf("message %q", unavailable.Message)
	}
}

func TestWhetherANamespaceIsThereIsToldWithoutWritingAnything(t *testing.T) {
	f := onTarget(t)
	if err := f.scope.CheckNamespace(f.ctx); err != nil {
		t.Fatalf("the namespace is there: %v", err)
	}
	var stored corev1.ConfigMapList
	if err := f.admin.List(f.ctx, &stored, client.InNamespace(f.ns)); err != nil {
		t.Fatal(err)
	}
	for _, cm := range stored.Items {
		if cm.Name != f.owner.GetName() {
			t.Errorf("the question left ConfigMap %s behind", cm.Name)
		}
	}

	owner := f.owner.DeepCopy()
	owner.Namespace = f.ns + "-absent"
	err := f.scopeOf(f.p, newTarget(t, edge, owner.Namespace, hubA), owner).CheckNamespace(f.ctx)
	if unavailable, ok := clusters.AsUnavailable(err); !ok || unavailable.Cause != clusters.CauseNamespaceAbsent {
		t.Errorf("absent: got %v", err)
	}

	if err := f.admin.Delete(f.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.ns}}); err != nil {
		t.Fatal(err)
	}
	err = f.scope.CheckNamespace(f.ctx)
	if unavailable, ok := clusters.AsUnavailable(err); !ok || unavailable.Cause != clusters.CauseNamespaceAbsent {
		t.Errorf("on its way out: got %v", err)
	}
}

// lost is a target whose connection is gone: nobody listens at its address.
type lost struct {
	*testTarget
	client client.Client
}

func (l *lost) Client() client.Client    { return l.client }
func (l *lost) APIReader() client.Reader { return l.client }

func TestAConnectionErrorKeepsItsChain(t *testing.T) {
	f := onTarget(t)
	cfg := rest.CopyConfig(apiServer)
	cfg.Host = "https://127.0.0.1:1"
	c, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: f.target.mapper})
	if err != nil {
		t.Fatal(err)
	}
	scope := f.scopeOf(f.p, &lost{testTarget: f.target, client: c}, f.owner)
	_, applyErr := projection.Apply(f.ctx, scope, secret("child"))
	_, deleteErr := scope.Delete(f.ctx, secret("child"), metav1.DeletePropagationBackground)
	_, sweepErr := scope.Sweep(f.ctx)
	_, revisionErr := scope.ApplyRevision(f.ctx, "base", secret(""))
	for verb, err := range map[string]error{
		"apply": applyErr, "delete": deleteErr, "sweep": sweepErr, "apply a revision": revisionErr,
		"get":             scope.Get(f.ctx, "child", &corev1.Secret{}),
		"list":            scope.List(f.ctx, &corev1.SecretList{}, nil),
		"prune":           scope.PruneRevisions(f.ctx, &corev1.Secret{}, "base", ""),
		"sweep revisions": scope.SweepRevisions(f.ctx, &corev1.Secret{}, "base"),
	} {
		var dial *url.Error
		if !errors.As(err, &dial) {
			t.Errorf("%s: got %v, want the connection error in the chain", verb, err)
			continue
		}
		if !strings.Contains(err.Error(), `"edge-1"`) {
			t.Errorf("%s: message %q does not name the cluster", verb, err)
		}
	}
}

// gone answers every call as a target does after its connection was replaced.
type gone struct {
	*testTarget
	calls int
}

func (g *gone) Client() client.Client    { return &goneClient{Client: g.testTarget.Client(), gone: g} }
func (g *gone) APIReader() client.Reader { return &goneClient{Client: g.testTarget.Client(), gone: g} }

type goneClient struct {
	client.Client
	gone *gone
}

func (g *goneClient) List(context.Context, client.ObjectList, ...client.ListOption) error {
	g.gone.calls++
	return &clusters.UnavailableError{Cluster: edge, Cause: clusters.CauseUnreachable, Message: "unreachable"}
}

func TestASweepEndsAtTheFirstCallThatTheClusterDoesNotAnswer(t *testing.T) {
	f := onTarget(t)
	target := &gone{testTarget: f.target}
	_, err := f.scopeOf(f.p, target, f.owner).Sweep(f.ctx)
	if _, ok := clusters.AsUnavailable(err); !ok {
		t.Fatalf("got %v", err)
	}
	if target.calls != 1 {
		t.Errorf("%d calls, want 1", target.calls)
	}
}
