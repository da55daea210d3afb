// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// intent is an object as it should be, reduced to what is applied.
type intent struct {
	ref Ref
	// like makes an empty object of the type that the caller uses.
	like func() client.Object
	// payload is the apply configuration, without a UID.
	payload     map[string]any
	labels      map[string]string
	annotations map[string]string
	hash        [32]byte
	// from makes the intent anew from what the cluster holds, where it follows that.
	from func(current client.Object) (*intent, error)
	// version binds the intent to the object's resourceVersion that it is made from.
	version string
}

// asOf is the intent for the object that the cluster holds.
func (in *intent) asOf(current client.Object) (*intent, error) {
	if in.from == nil {
		return in, nil
	}
	out, err := in.from(current)
	if err != nil {
		return nil, err
	}
	out.from, out.version = in.from, current.GetResourceVersion()
	return out, nil
}

// newIntent reduces an object to its apply configuration: the fields that the
// caller set, the ownership labels and, on the hub, the owner reference.
func (s *Scope) newIntent(obj client.Object) (*intent, error) {
	gvk, err := apiutil.GVKForObject(obj, s.p.scheme)
	if err != nil {
		return nil, fmt.Errorf("kind of %T: %w", obj, err)
	}
	in := &intent{
		ref:  Ref{GroupVersionKind: gvk, Namespace: s.owner.Namespace, Name: obj.GetName()},
		like: func() client.Object { return emptyLike(obj) },
	}
	if in.ref.Name == "" {
		return nil, fmt.Errorf("apply %s: %w", in.ref, errors.New("it has no name"))
	}
	if ns := obj.GetNamespace(); ns != "" && ns != s.owner.Namespace {
		return nil, fmt.Errorf("apply %s %s/%s: %w", gvk.Kind, ns, in.ref.Name,
			errors.New("a child lies in its owner's namespace "+s.owner.Namespace))
	}
	if in.payload, err = payloadOf(obj); err != nil {
		return nil, fmt.Errorf("apply %s: %w", in.ref, err)
	}
	in.labels = merged(obj.GetLabels(), s.labels)
	in.annotations = obj.GetAnnotations()
	meta := map[string]any{
		"name":      in.ref.Name,
		"namespace": in.ref.Namespace,
		"labels":    asAny(in.labels),
	}
	if len(in.annotations) > 0 {
		meta["annotations"] = asAny(in.annotations)
	}
	if ref, ok := s.ownerReference(); ok {
		meta["ownerReferences"] = []any{map[string]any{
			"apiVersion": ref.APIVersion, "kind": ref.Kind, "name": ref.Name, "uid": string(ref.UID),
			"controller": true, "blockOwnerDeletion": true,
		}}
	}
	in.payload["apiVersion"], in.payload["kind"] = gvk.GroupVersion().String(), gvk.Kind
	in.payload["metadata"] = meta
	if gvk.Group == "batch" && gvk.Kind == "CronJob" {
		labelJobTemplate(in.payload, in.labels)
	}
	data, err := json.Marshal(in.payload)
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", in.ref, err)
	}
	in.hash = sha256.Sum256(data)
	return in, nil
}

// patch is the apply configuration. A UID binds it to one object: if that is
// gone or another took its name, the server answers a conflict. So it does where
// the intent is bound to a version that is not the object's any more.
func (in *intent) patch(uid types.UID) (client.Patch, error) {
	payload := in.payload
	if uid != "" {
		payload = make(map[string]any, len(in.payload))
		for k, v := range in.payload {
			payload[k] = v
		}
		meta := map[string]any{"uid": string(uid)}
		if in.version != "" {
			meta["resourceVersion"] = in.version
		}
		for k, v := range in.payload["metadata"].(map[string]any) {
			meta[k] = v
		}
		payload["metadata"] = meta
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.ApplyPatchType, data), nil
}

// labelJobTemplate gives the Jobs of a CronJob the labels of the CronJob: it is
// by these that the caches of children hold them. What the template sets itself
// stays.
func labelJobTemplate(payload map[string]any, labels map[string]string) {
	own, _, _ := unstructured.NestedStringMap(payload, "spec", "jobTemplate", "metadata", "labels")
	// Only a spec of another shape fails, which the server refuses anyway.
	_ = unstructured.SetNestedStringMap(payload, merged(labels, own), "spec", "jobTemplate", "metadata", "labels")
}

// payloadOf turns an object into the fields that were set, without metadata and
// status.
func payloadOf(obj client.Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		out := u.DeepCopy().Object
		delete(out, "metadata")
		delete(out, "status")
		dropNulls(out)
		return out, nil
	}
	if secret, ok := obj.(*corev1.Secret); ok {
		obj = foldStringData(secret)
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	delete(out, "metadata")
	delete(out, "status")
	dropUnset(reflect.ValueOf(obj), out)
	dropNulls(out)
	return out, nil
}

// foldStringData moves stringData into data. Applied as stringData the keys
// would be written but never owned, and so never taken away.
func foldStringData(secret *corev1.Secret) *corev1.Secret {
	if len(secret.StringData) == 0 {
		return secret
	}
	out := secret.DeepCopy()
	if out.Data == nil {
		out.Data = map[string][]byte{}
	}
	for k, v := range out.StringData {
		out.Data[k] = []byte(v)
	}
	out.StringData = nil
	return out
}

// emptyLike makes an empty object of the same type.
func emptyLike(obj client.Object) client.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		out := &unstructured.Unstructured{}
		out.SetGroupVersionKind(u.GroupVersionKind())
		return out
	}
	return reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
}

// merged joins two maps; the second wins.
func merged(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		out[k] = v
	}
	return out
}

func asAny(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
