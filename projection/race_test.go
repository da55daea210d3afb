// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/projection"
)

// hooked is a target on which something happens right after a read.
type hooked struct {
	*testTarget
	afterCached, afterLive func()
}

func (h *hooked) Client() client.Client {
	return &hookedClient{Client: h.testTarget.Client(), after: h.afterCached}
}

func (h *hooked) APIReader() client.Reader {
	return &hookedReader{Reader: h.testTarget.APIReader(), after: h.afterLive}
}

type hookedClient struct {
	client.Client
	after func()
}

func (h *hookedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := h.Client.Get(ctx, key, obj, opts...)
	if h.after != nil {
		h.after()
	}
	return err
}

type hookedReader struct {
	client.Reader
	after func()
}

func (h *hookedReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := h.Reader.Get(ctx, key, obj, opts...)
	if h.after != nil {
		h.after()
	}
	return err
}

func TestAForeignObjectThatAppearsDuringTheFirstApplyIsRefused(t *testing.T) {
	f := onTarget(t)
	var once sync.Once
	target := &hooked{testTarget: f.target, afterLive: func() {
		once.Do(func() {
			theirs := configMap("child")
			theirs.Namespace = f.ns
			theirs.Data["key"] = "theirs"
			f.create(theirs)
		})
	}}
	_, err := projection.Apply(f.ctx, f.scopeOf(f.p, target, f.owner), configMap("child"))
	var foreign *projection.ForeignObjectError
	if !errors.As(err, &foreign) {
		t.Fatalf("got %v, want a ForeignObjectError", err)
	}
	if live := f.live(configMap("child")); data(live)["key"] != "theirs" || len(live.GetLabels()) != 2 {
		t.Errorf("the foreign object was changed: %v", live)
	}
}

func TestAForeignObjectThatReplacedOursBehindAStaleCacheIsRefused(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.kind, func(t *testing.T) {
			f := onTarget(t)
			f.apply(s.make("child"))
			var once sync.Once
			target := &hooked{testTarget: f.target, afterCached: func() {
				once.Do(func() {
					f.remove(s.make("child"))
					theirs := s.make("child")
					theirs.SetNamespace(f.ns)
					f.create(theirs)
				})
			}}
			changed := s.make("child")
			changed.SetAnnotations(map[string]string{"example.org/note": "new"})
			_, err := projection.Apply(f.ctx, f.scopeOf(f.p, target, f.owner), changed)
			var foreign *projection.ForeignObjectError
			if !errors.As(err, &foreign) {
				t.Fatalf("got %v, want a ForeignObjectError", err)
			}
			live := f.live(changed)
			if live.GetAnnotations()["example.org/note"] != "as intended" || live.GetLabels()[projection.LabelOwnerHub] != "" {
				t.Errorf("the foreign object was changed: %v %v", live.GetLabels(), live.GetAnnotations())
			}
		})
	}
}

func TestAnObjectDeletedBehindAStaleCacheIsMadeAnew(t *testing.T) {
	f := onTarget(t)
	first := f.apply(configMap("child"))
	var once sync.Once
	target := &hooked{testTarget: f.target, afterCached: func() { once.Do(func() { f.remove(configMap("child")) }) }}
	changed := configMap("child")
	changed.Data["key"] = "new"
	live, err := projection.Apply(f.ctx, f.scopeOf(f.p, target, f.owner), changed)
	if err != nil {
		t.Fatal(err)
	}
	if live.UID == first.GetUID() || live.Data["key"] != "new" {
		t.Errorf("got %v", live)
	}
}

func TestAFieldThatFollowsWhatTheClusterHoldsIsNotUndoneBehindAStaleCache(t *testing.T) {
	for name, changes := range map[string]bool{"with nothing else to write": false, "with something else to write": true} {
		t.Run(name, func(t *testing.T) {
			f := onTarget(t)
			wants := func(note string) func(*corev1.ConfigMap) *corev1.ConfigMap {
				return func(live *corev1.ConfigMap) *corev1.ConfigMap {
					out := configMap("child")
					out.SetAnnotations(map[string]string{"example.org/note": note})
					if live != nil {
						out.Data["key"] = live.Data["key"]
					}
					return out
				}
			}
			if _, err := projection.ApplyFrom(f.ctx, f.scope, wants("old")); err != nil {
				t.Fatal(err)
			}
			var once sync.Once
			target := &hooked{testTarget: f.target, afterCached: func() {
				once.Do(func() {
					theirs := f.live(configMap("child"))
					if err := f.admin.Patch(f.ctx, theirs, client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"theirs"}}`))); err != nil {
						t.Error(err)
					}
				})
			}}
			note := "old"
			if changes {
				note = "new"
			}
			if _, err := projection.ApplyFrom(f.ctx, f.scopeOf(f.p, target, f.owner), wants(note)); err != nil {
				t.Fatal(err)
			}
			live := f.live(configMap("child"))
			if got := data(live)["key"]; got != "theirs" || live.GetAnnotations()["example.org/note"] != note {
				t.Errorf("the field is %q, want theirs; note %q, want %q", got, live.GetAnnotations()["example.org/note"], note)
			}
		})
	}
}

func TestOwnersAreAppliedConcurrently(t *testing.T) {
	f := onTarget(t)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		scope := f.scopeOf(f.p, f.target, f.newOwner(name))
		all.Go(func() {
			for range 5 {
				for _, s := range samples() {
					if _, err := projection.Apply(f.ctx, scope, s.make(name+"-child")); err != nil {
						t.Errorf("%s of %s: %v", s.kind, name, err)
					}
				}
			}
		})
	}
	all.Wait()
	list := &corev1.SecretList{}
	if err := f.admin.List(f.ctx, list, client.InNamespace(f.ns), client.HasLabels{projection.LabelOwnerHub}); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 4 {
		t.Errorf("%d Secrets, want 4", len(list.Items))
	}
}

func TestAnInvalidIntentIsTheServersErrorWithVerbObjectAndCluster(t *testing.T) {
	f := onTarget(t)
	f.apply(job("child"))
	changed := job("child")
	changed.Spec.Template.Spec.Containers[0].Image = "registry.example.org/cinder:2"
	_, err := projection.Apply(f.ctx, f.scope, changed)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("got %v, want the server's Invalid", err)
	}
	want := `apply Job ` + f.ns + `/child on "edge-1": `
	if got := err.Error(); len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("message %q does not start with %q", got, want)
	}
}
