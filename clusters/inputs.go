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

// inputTTL is how long the content of an object is kept after it was last asked for.
const inputTTL = 2 * time.Minute

var (
	gvkSecret    = corev1.SchemeGroupVersion.WithKind("Secret")
	gvkConfigMap = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// inputKinds are the kinds whose metadata is watched on every cluster.
func inputKinds() []*metav1.PartialObjectMetadata {
	return []*metav1.PartialObjectMetadata{metadataOf(gvkSecret), metadataOf(gvkConfigMap)}
}

func metadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m
}

// inputs reads what users own. It keeps an object's content only while the metadata watch shows the version that was
// read, and only while somebody asks for it.
type inputs struct {
	guard   guard
	meta    client.Reader // of metadata, from the cache
	live    client.Reader // behind the guard
	watched func(schema.GroupVersionKind) bool

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

func newInputs(g guard, meta, live client.Reader, watched func(schema.GroupVersionKind) bool) *inputs {
	return &inputs{guard: g, meta: meta, live: live, watched: watched, memo: map[inputKey]*memoized{}}
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
	if in.watched(gvk) {
		seen := metadataOf(gvk)
		err := guarded(ctx, in.guard, "", func(ctx context.Context) error { return in.meta.Get(ctx, key, seen) })
		switch {
		case apierrors.IsNotFound(err):
			in.drop(at)
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: resourceOf(gvk)}, key.Name)
		case err != nil:
			return nil, fmt.Errorf("read metadata of %s %s: %w", gvk.Kind, key, err)
		}
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
	if in.watched(gvk) {
		in.mu.Lock()
		in.memo[at] = &memoized{obj: fresh, used: time.Now()}
		in.mu.Unlock()
	}
	return fresh, nil
}

func resourceOf(gvk schema.GroupVersionKind) string {
	if gvk == gvkSecret {
		return "secrets"
	}
	return "configmaps"
}

func (in *inputs) current(at inputKey, seen *metav1.PartialObjectMetadata) client.Object {
	in.mu.Lock()
	defer in.mu.Unlock()
	m, ok := in.memo[at]
	if !ok || m.obj.GetUID() != seen.UID || m.obj.GetResourceVersion() != seen.ResourceVersion {
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
