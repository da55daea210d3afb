// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inputTTL is how long the content of an object is kept after it was last asked for; spaceSweep later, at the latest, it
// is gone.
const inputTTL = 100 * time.Second

// inputLimit is the size of an object whose content is kept, in bytes: what is larger no API server stores.
const inputLimit = 2 << 20

var (
	gvkSecret    = corev1.SchemeGroupVersion.WithKind("Secret")
	gvkConfigMap = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

func metadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m
}

// inputs reads what users own. It keeps an object's content only while the metadata watch shows the version that was
// read, and only while somebody asks for it.
type inputs struct {
	guard  guard
	live   client.Reader // behind the guard
	spaces *spaces

	mu   sync.Mutex // guards memo; never held across a read
	memo map[inputKey]*memoized
}

type inputKey struct {
	kind string
	types.NamespacedName
}

type memoized struct {
	obj  client.Object
	used time.Time
}

var _ Inputs = (*inputs)(nil)

func newInputs(g guard, live client.Reader, sp *spaces, emit func(Event)) *inputs {
	in := &inputs{guard: g, live: live, spaces: sp, memo: map[inputKey]*memoized{}}
	sp.dropped = in.dropNamespace
	sp.emit = func(ev Event) {
		in.changed(ev)
		emit(ev)
	}
	return in
}

// run watches the namespaces in use until ctx ends, and returns when nothing of it runs any more.
func (in *inputs) run(ctx context.Context) {
	in.spaces.run(ctx, in.expire)
	in.mu.Lock()
	defer in.mu.Unlock()
	clear(in.memo)
}

// Secret is part of Inputs.
func (in *inputs) Secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	obj, err := in.read(ctx, gvkSecret, key, &corev1.Secret{})
	if err != nil {
		return nil, err
	}
	return obj.DeepCopyObject().(*corev1.Secret), nil
}

// ConfigMap is part of Inputs.
func (in *inputs) ConfigMap(ctx context.Context, key types.NamespacedName) (*corev1.ConfigMap, error) {
	obj, err := in.read(ctx, gvkConfigMap, key, &corev1.ConfigMap{})
	if err != nil {
		return nil, err
	}
	return obj.DeepCopyObject().(*corev1.ConfigMap), nil
}

// read answers the memoized object, which the caller must not change, or reads it into fresh.
func (in *inputs) read(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName, fresh client.Object) (client.Object, error) {
	at := inputKey{gvk.Kind, key}
	if _, done, err := in.guard.enter(ctx); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, key, err)
	} else {
		done()
	}
	seen, watched := in.spaces.get(kindKey{gvk, true}, key)
	switch {
	case watched && seen == nil:
		in.drop(at)
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: resourceOf(gvk)}, key.Name)
	case watched:
		if obj := in.current(at, seen); obj != nil {
			return obj, nil
		}
	}
	if err := in.live.Get(ctx, key, fresh); err != nil {
		if apierrors.IsNotFound(err) {
			in.drop(at)
			return nil, err
		}
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, key, err)
	}
	if watched && weigh(fresh) <= inputLimit {
		in.keep(at, fresh)
	}
	return fresh, nil
}

// keep holds on to what was read, unless its namespace went out of use meanwhile: then nothing would drop it.
func (in *inputs) keep(at inputKey, obj client.Object) {
	in.mu.Lock()
	in.memo[at] = &memoized{obj: obj, used: time.Now()}
	in.mu.Unlock()
	if !in.spaces.isOpen(at.Namespace) {
		in.drop(at)
	}
}

// dropNamespace forgets everything of a namespace.
func (in *inputs) dropNamespace(namespace string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for at := range in.memo {
		if at.Namespace == namespace {
			delete(in.memo, at)
		}
	}
}

func resourceOf(gvk schema.GroupVersionKind) string {
	if gvk == gvkSecret {
		return "secrets"
	}
	return "configmaps"
}

func (in *inputs) current(at inputKey, seen client.Object) client.Object {
	in.mu.Lock()
	defer in.mu.Unlock()
	m, ok := in.memo[at]
	if !ok || m.obj.GetUID() != seen.GetUID() || m.obj.GetResourceVersion() != seen.GetResourceVersion() {
		return nil
	}
	m.used = time.Now()
	return m.obj
}

func (in *inputs) drop(at inputKey) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.memo, at)
}

// changed forgets the content of an object that moved on or went: nobody may ask for it again, and then nothing else
// would.
func (in *inputs) changed(ev Event) {
	m, ok := ev.Object.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	at := inputKey{m.Kind, client.ObjectKeyFromObject(m)}
	in.mu.Lock()
	defer in.mu.Unlock()
	have, ok := in.memo[at]
	if ok && (ev.Deleted || have.obj.GetResourceVersion() != m.ResourceVersion) {
		delete(in.memo, at)
	}
}

// expire forgets the content of objects that nobody asked for lately.
func (in *inputs) expire(now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for at, m := range in.memo {
		if now.Sub(m.used) > inputTTL {
			delete(in.memo, at)
		}
	}
}
