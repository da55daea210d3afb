// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// pruneUnnamed deletes those of the candidates that nothing names; where that
// cannot be read in time they are kept, which is no error. What is
// pinned is remembered together with the state of the owner's workloads, so
// that it is not looked at live again on every pass until one of them moves.
func (s *Scope) pruneUnnamed(ctx context.Context, ref Ref, base string, candidates []client.Object) error {
	state, err := s.workloadState(ctx, candidates)
	if err != nil {
		return err
	}
	memo := pinKey{cluster: s.target.UID(), kind: ref.GroupVersionKind.Kind, base: base}
	if s.p.pins.is(s.owner.UID, memo, state) {
		return nil
	}
	named, err := s.namedByPodTemplates(ctx)
	switch {
	case errors.Is(err, ErrBusy):
		return nil // they are looked at again with the next pass
	case errors.Is(err, ErrEndless):
		// Who cannot tell what is named keeps everything, and goes on.
		log.FromContext(ctx).Info("Revisions are kept: what pods name cannot be read whole", "base", base, "cause", err.Error())
		s.p.pins.set(s.owner.UID, memo, state)
		return nil
	case err != nil:
		return err
	}
	pinned := false
	var errs []error
	for _, o := range candidates {
		if named.has(ref.GroupVersionKind.Kind, o.GetName()) {
			pinned = true
			continue
		}
		errs = append(errs, s.deleteRevision(ctx, refTo(ref.GroupVersionKind, o), o))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if pinned {
		// Once the deletes have reached the cache, the candidates are the pinned
		// ones alone and this is asked once more.
		s.p.pins.set(s.owner.UID, memo, state)
	}
	return nil
}

// workloadState digests the candidates and the owner's workloads as the cache
// shows them.
func (s *Scope) workloadState(ctx context.Context, candidates []client.Object) ([32]byte, error) {
	h := sha256.New()
	for _, o := range candidates {
		digest(h, o)
	}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &batchv1.CronJobList{}, &batchv1.JobList{}} {
		if err := s.List(ctx, list, nil); err != nil {
			return [32]byte{}, err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return [32]byte{}, fmt.Errorf("list %T: %w", list, err)
		}
		var sum [32]byte
		for _, item := range items {
			if o, ok := item.(client.Object); ok {
				// The cache lists in no order: the digests are added up.
				one := sha256.New()
				digest(one, o)
				for i, b := range one.Sum(nil) {
					sum[i] ^= b
				}
			}
		}
		h.Write(sum[:])
	}
	return [32]byte(h.Sum(nil)), nil
}

func digest(h hash.Hash, o client.Object) {
	fmt.Fprintf(h, "%s %s\n", o.GetUID(), o.GetResourceVersion())
}

// named holds the Secrets and ConfigMaps that pods refer to, by kind and name.
type named struct {
	names map[[2]string]struct{}
	size  int64 // of the names
}

func (n *named) add(kind, name string) {
	if name == "" || n.has(kind, name) {
		return
	}
	n.names[[2]string{kind, name}] = struct{}{}
	n.size += int64(100 + len(name))
}

func (n *named) has(kind, name string) bool {
	_, ok := n.names[[2]string{kind, name}]
	return ok
}

// namedByPodTemplates reads live what the pod templates of the namespace name.
// Not the owner's alone: one whose labels were taken off counts too, and
// whoever mounts a revision would lose it.
func (s *Scope) namedByPodTemplates(ctx context.Context) (*named, error) {
	ctx, r, cancel := s.p.readAlone(ctx, s.target)
	defer cancel()
	out := &named{names: map[[2]string]struct{}{}}
	return out, errors.Join(
		listAll(ctx, s, r, &appsv1.DeploymentList{}, func(l *appsv1.DeploymentList) error {
			for i := range l.Items {
				out.addPod(&l.Items[i].Spec.Template.Spec)
			}
			return keeps(out.size)
		}),
		listAll(ctx, s, r, &batchv1.CronJobList{}, func(l *batchv1.CronJobList) error {
			for i := range l.Items {
				out.addPod(&l.Items[i].Spec.JobTemplate.Spec.Template.Spec)
			}
			return keeps(out.size)
		}),
		listAll(ctx, s, r, &batchv1.JobList{}, func(l *batchv1.JobList) error {
			for i := range l.Items {
				out.addPod(&l.Items[i].Spec.Template.Spec)
			}
			return keeps(out.size)
		}),
		listAll(ctx, s, r, &appsv1.ReplicaSetList{}, func(l *appsv1.ReplicaSetList) error {
			for i := range l.Items {
				rs := &l.Items[i]
				if rs.Status.Replicas > 0 || rs.Spec.Replicas == nil || *rs.Spec.Replicas > 0 {
					out.addPod(&rs.Spec.Template.Spec)
				}
			}
			return keeps(out.size)
		}),
	)
}

// listAll reads a kind of the owner's namespace live, page by page.
func listAll[L client.ObjectList](ctx context.Context, s *Scope, r *reading, empty L, each func(L) error) error {
	if err := eachPage(ctx, r, s.target, empty, each, client.InNamespace(s.owner.Namespace)); err != nil {
		return fmt.Errorf("list %T in %s on %s: %w", empty, s.owner.Namespace, s.target, err)
	}
	return nil
}

func (n *named) addPod(pod *corev1.PodSpec) {
	for i := range pod.Volumes {
		n.addVolume(&pod.Volumes[i])
	}
	for i := range pod.InitContainers {
		n.addEnv(pod.InitContainers[i].Env, pod.InitContainers[i].EnvFrom)
	}
	for i := range pod.Containers {
		n.addEnv(pod.Containers[i].Env, pod.Containers[i].EnvFrom)
	}
	for _, s := range pod.ImagePullSecrets {
		n.add("Secret", s.Name)
	}
}

func (n *named) addVolume(v *corev1.Volume) {
	if v.Secret != nil {
		n.add("Secret", v.Secret.SecretName)
	}
	if v.ConfigMap != nil {
		n.add("ConfigMap", v.ConfigMap.Name)
	}
	if v.CSI != nil && v.CSI.NodePublishSecretRef != nil {
		n.add("Secret", v.CSI.NodePublishSecretRef.Name)
	}
	if v.Projected == nil {
		return
	}
	for i := range v.Projected.Sources {
		src := &v.Projected.Sources[i]
		if src.Secret != nil {
			n.add("Secret", src.Secret.Name)
		}
		if src.ConfigMap != nil {
			n.add("ConfigMap", src.ConfigMap.Name)
		}
	}
}

func (n *named) addEnv(env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for i := range env {
		src := env[i].ValueFrom
		if src == nil {
			continue
		}
		if src.SecretKeyRef != nil {
			n.add("Secret", src.SecretKeyRef.Name)
		}
		if src.ConfigMapKeyRef != nil {
			n.add("ConfigMap", src.ConfigMapKeyRef.Name)
		}
	}
	for i := range from {
		if from[i].SecretRef != nil {
			n.add("Secret", from[i].SecretRef.Name)
		}
		if from[i].ConfigMapRef != nil {
			n.add("ConfigMap", from[i].ConfigMapRef.Name)
		}
	}
}

type pinKey struct {
	cluster    types.UID
	kind, base string
}

// pinMemo remembers, per owner and base, the state in which the revisions
// beyond the history were found pinned. It is as bounded as an owner's bases.
type pinMemo struct {
	mu     sync.Mutex
	states map[types.UID]map[pinKey][32]byte
}

func newPinMemo() *pinMemo { return &pinMemo{states: map[types.UID]map[pinKey][32]byte{}} }

func (m *pinMemo) is(owner types.UID, k pinKey, state [32]byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	have, ok := m.states[owner][k]
	return ok && have == state
}

func (m *pinMemo) set(owner types.UID, k pinKey, state [32]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.states[owner] == nil {
		m.states[owner] = map[pinKey][32]byte{}
	}
	m.states[owner][k] = state
}

func (m *pinMemo) dropOwner(owner types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, owner)
}
