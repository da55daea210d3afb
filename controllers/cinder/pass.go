// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/clusters"
	"c5c3.io/cinder-operator/controllers/pipeline"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/projection"
)

// Pass is one reconcile of one Cinder: the resource, where its children live,
// and what the steps found out on the way.
type Pass struct {
	// Cinder is the working copy. Steps set status fields on it, never spec.
	Cinder *v1alpha1.Cinder
	// Target is the cluster of the children.
	Target clusters.Target
	// Scope projects children of this Cinder onto Target.
	Scope *projection.Scope
	// Facts were found by earlier steps of this pass.
	Facts Facts

	// stored are the conditions as the pass found them.
	stored []metav1.Condition
	events *eventBuffer
	// sharedVhost tells of other Cinders on the bus' virtual host; empty without any.
	sharedVhost string
	// vhostUnseen says that nobody could look for them.
	vhostUnseen bool
	// skipped are the satellites that this pass found impossible to render.
	skipped map[lasting]bool
}

// Facts are what one step finds and later ones use. Each has one writer, and is
// empty until it has run: Secrets writes AuthtokenHash, DBConnectionSecret
// DBConnectionHash, TransportURLSecret TransportURLHash and the broker's ports,
// Backends the Backends, HeldBackends and Detaching, BackupBackend the Backup and
// HeldBackup, Config the ConfigMapName and ConfigKeys, Database the
// InstalledRelease. The LiveReplicas are read where they are used.
type Facts struct {
	// Facts are what the renderers read.
	render.Facts
	// HeldBackends names the volume backends whose needs could not be read in
	// this pass: their live Deployments stay exactly as they are.
	HeldBackends map[string]bool
	// HeldBackup says the same of the backup target.
	HeldBackup bool
	// Detaching are the volume backends that are being deleted and still held by
	// our finalizer, in name order. VolumeServices takes out those it releases.
	Detaching []v1alpha1.CinderBackend
}

var _ pipeline.Pass[*Pass] = (*Pass)(nil)

// Object implements pipeline.Pass.
func (p *Pass) Object() client.Object { return p.Cinder }

// Conditions implements pipeline.Pass.
func (p *Pass) Conditions() *[]metav1.Condition { return &p.Cinder.Status.Conditions }

// Fork implements pipeline.Pass. The members share the target, the scope and the
// event buffer, which are safe for concurrent use; facts are only read from here.
func (p *Pass) Fork() *Pass {
	fork := *p
	fork.Cinder = p.Cinder.DeepCopy()
	return &fork
}

func conditionsOf(obj client.Object) *[]metav1.Condition {
	cr, ok := obj.(*v1alpha1.Cinder)
	if !ok {
		return &[]metav1.Condition{}
	}
	return &cr.Status.Conditions
}

func (p *Pass) setTrue(typ, reason, message string) {
	pipeline.True(p.Conditions(), p.Cinder.Generation, typ, reason, message)
}

func (p *Pass) setFalse(typ, reason, format string, args ...any) {
	pipeline.False(p.Conditions(), p.Cinder.Generation, typ, reason, fmt.Sprintf(format, args...))
}

// errPinned ends the pass that was about to write the first child: the status
// has to name the cluster before anything is there. A process that died between
// the two would otherwise not know another cluster behind the same name.
var errPinned = errors.New("the cluster of the children is recorded first")

// apply projects one child.
func apply[T client.Object](ctx context.Context, p *Pass, intent T) (T, error) {
	if p.pin() {
		return intent, errPinned
	}
	return projection.Apply(ctx, p.Scope, intent)
}

// applyFrom projects one child that follows what the cluster holds.
func applyFrom[T client.Object](ctx context.Context, p *Pass, intent func(live T) T) (T, error) {
	if p.pin() {
		var none T
		return none, errPinned
	}
	return projection.ApplyFrom(ctx, p.Scope, intent)
}

// applyRevision projects an immutable, content-addressed child and prunes the
// history of its base.
func applyRevision(ctx context.Context, p *Pass, base string, intent client.Object) (string, error) {
	if p.pin() {
		return "", errPinned
	}
	return p.Scope.ApplyRevision(ctx, base, intent)
}

// pin remembers on which target the children are, and tells whether that was not
// known before. The hub needs no such memory: it is the cluster that holds the
// status.
func (p *Pass) pin() bool {
	if p.Target.IsHub() {
		return false
	}
	is := v1alpha1.TargetClusterStatusRef{Name: p.Target.Name(), UID: string(p.Target.UID())}
	if was := p.Cinder.Status.TargetCluster; was != nil && *was == is {
		return false
	}
	p.Cinder.Status.TargetCluster = &is
	return true
}

// remove deletes a child that the cache knows. Asking the cache first keeps a
// steady pass from reading live what is not there.
func remove(ctx context.Context, p *Pass, obj client.Object) error {
	err := p.Scope.Get(ctx, obj.GetName(), obj)
	if err == nil {
		_, err = p.Scope.Delete(ctx, obj, metav1.DeletePropagationBackground)
	}
	return client.IgnoreNotFound(err)
}
