// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"c5c3.io/cinder-operator/clusters"
)

// DefaultMaxKeys bounds what a Projector remembers: some 2,000 owners with 30
// children each.
const DefaultMaxKeys = 1 << 16

// Options configure a Projector.
type Options struct {
	// Scheme knows the owners' types and the typed children's. Required.
	Scheme *runtime.Scheme
	// HubUID is the identity of the hub, as HubID gives it. Required.
	HubUID string
	// Kinds are the kinds that a sweep goes through. Default: Kinds().
	Kinds []clusters.ChildKind
	// MaxKeys bounds the number of objects whose last apply is remembered; the
	// least recently used is forgotten, which costs one apply that changes
	// nothing. Default: DefaultMaxKeys.
	MaxKeys int
	// ReadTimeout bounds reading at one go, over all its calls: a sweep, a count
	// of orphans, a look at what pods name. Default: one minute.
	ReadTimeout time.Duration
	// Metrics is where the counter of writes is registered. Default: nowhere.
	Metrics prometheus.Registerer
}

// Projector makes Scopes. It is safe for concurrent use.
type Projector struct {
	scheme  *runtime.Scheme
	hubUID  string
	manager string
	kinds   []clusters.ChildKind
	// rvKeyed holds the kinds whose version is the resourceVersion.
	rvKeyed     map[string]bool
	readTimeout time.Duration
	keys        *keyCache
	pins        *pinMemo
	writes      *prometheus.CounterVec
	// long holds the UIDs of the clusters of which a long list is being read.
	long sync.Map
}

// New makes a Projector.
func New(o Options) *Projector {
	if o.Kinds == nil {
		o.Kinds = Kinds()
	}
	if o.MaxKeys <= 0 {
		o.MaxKeys = DefaultMaxKeys
	}
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = readTimeout
	}
	p := &Projector{
		scheme:      o.Scheme,
		hubUID:      o.HubUID,
		manager:     FieldManager(o.HubUID),
		kinds:       o.Kinds,
		rvKeyed:     map[string]bool{},
		readTimeout: o.ReadTimeout,
		keys:        newKeyCache(o.MaxKeys),
		pins:        newPinMemo(),
		writes:      newWritesCounter(o.Metrics),
	}
	for _, k := range o.Kinds {
		if gvk, err := apiutil.GVKForObject(k.Object, o.Scheme); err == nil && k.KeepResourceVersionKey {
			p.rvKeyed[gvk.GroupKind().String()] = true
		}
	}
	return p
}

// Forget drops all that is remembered of an owner's children. It is called when
// the owner is gone.
func (p *Projector) Forget(owner types.UID) {
	p.keys.dropOwner(owner)
	p.pins.dropOwner(owner)
}

// ForgetCluster drops the series of a cluster that was deregistered.
func (p *Projector) ForgetCluster(name string) {
	p.writes.DeletePartialMatch(prometheus.Labels{"cluster": name})
}

// Scope is one owner on one target. It holds no state of its own but what the
// target is at the moment: make one per pass.
type Scope struct {
	p      *Projector
	target clusters.Target
	owner  ownerID
	labels map[string]string
}

// ownerID is the owner as children name it.
type ownerID struct {
	APIVersion, Kind, Namespace, Name string
	UID                               types.UID
}

func (o ownerID) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// Scope makes the scope of an owner on a target. It fails, before anything is
// written, for an owner whose name or namespace is no label value, and for one
// that was never stored.
func (p *Projector) Scope(t clusters.Target, owner client.Object) (*Scope, error) {
	gvk, err := apiutil.GVKForObject(owner, p.scheme)
	if err != nil {
		return nil, fmt.Errorf("kind of the owner %s/%s: %w", owner.GetNamespace(), owner.GetName(), err)
	}
	id := ownerID{
		APIVersion: gvk.GroupVersion().String(),
		Kind:       gvk.Kind,
		Namespace:  owner.GetNamespace(),
		Name:       owner.GetName(),
		UID:        owner.GetUID(),
	}
	switch {
	case p.hubUID == "":
		return nil, errors.New("projection without the identity of the hub")
	case id.Namespace == "":
		return nil, fmt.Errorf("%s %s has no namespace", id.Kind, id.Name)
	case id.UID == "":
		return nil, fmt.Errorf("%s has no UID", id)
	case len(id.Name) > maxLabelValue:
		return nil, fmt.Errorf("the name of %s has %d characters: children name their owner in a label, "+
			"which holds %d", id, len(id.Name), maxLabelValue)
	}
	if errs := validation.IsValidLabelValue(id.Name); len(errs) > 0 {
		return nil, fmt.Errorf("the name of %s is no label value: %s", id, strings.Join(errs, "; "))
	}
	return &Scope{p: p, target: t, owner: id, labels: map[string]string{
		LabelOwnerKind:      id.Kind,
		LabelOwnerName:      id.Name,
		LabelOwnerNamespace: id.Namespace,
		LabelOwnerHub:       p.hubUID,
	}}, nil
}

// Target is the cluster of this scope.
func (s *Scope) Target() clusters.Target { return s.target }

// Labels are the ownership labels of this scope's children; the map is the
// caller's.
func (s *Scope) Labels() map[string]string {
	out := make(map[string]string, len(s.labels))
	for k, v := range s.labels {
		out[k] = v
	}
	return out
}

// ownerReference is what a child on the hub carries, so that the garbage
// collector takes it with its owner. On another cluster it would take it at
// once: the owner is not there.
func (s *Scope) ownerReference() (metav1.OwnerReference, bool) {
	if !s.target.IsHub() {
		return metav1.OwnerReference{}, false
	}
	yes := true
	return metav1.OwnerReference{
		APIVersion:         s.owner.APIVersion,
		Kind:               s.owner.Kind,
		Name:               s.owner.Name,
		UID:                s.owner.UID,
		Controller:         &yes,
		BlockOwnerDeletion: &yes,
	}, true
}
