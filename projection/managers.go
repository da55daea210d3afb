// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managers is what an object's managed fields say of who wrote it. Entries of
// subresources (status, scale) are somebody else's business and left out.
type managers struct {
	apiVersion string
	entries    []metav1.ManagedFieldsEntry
}

func readManagers(o metav1.Object, apiVersion string) managers {
	m := managers{apiVersion: apiVersion}
	for _, e := range o.GetManagedFields() {
		if e.Subresource == "" {
			m.entries = append(m.entries, e)
		}
	}
	return m
}

// applied tells whether a manager applied the object.
func (m managers) applied(manager string) bool {
	for _, e := range m.entries {
		if e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

// others tells whether anybody but a manager wrote the object.
func (m managers) others(manager string) bool {
	for _, e := range m.entries {
		if e.Manager != manager {
			return true
		}
	}
	return false
}

// anyHub tells whether the operator of some hub applied the object.
func (m managers) anyHub() bool { return m.hub() != "" }

// hub is the identity of the hub that applied the object, if one did.
func (m managers) hub() string {
	for _, e := range m.entries {
		if hub, ok := hubOf(e); ok {
			return hub
		}
	}
	return ""
}

func (m managers) first() string {
	if len(m.entries) == 0 {
		return ""
	}
	return m.entries[0].Manager
}

// hubOwnsLabel tells whether the value of a label is one that a hub applied. An
// edit by anybody else takes the field from its manager.
func (m managers) hubOwnsLabel(key string) bool {
	for _, e := range m.entries {
		if _, ok := hubOf(e); !ok {
			continue
		}
		labels, _ := nested(fieldsOf(e), "f:metadata", "f:labels").(map[string]any)
		if _, owned := labels["f:"+key]; owned {
			return true
		}
	}
	return false
}

func hubOf(e metav1.ManagedFieldsEntry) (string, bool) {
	if e.Operation != metav1.ManagedFieldsOperationApply {
		return "", false
	}
	return strings.CutPrefix(e.Manager, fieldManagerPrefix)
}

// takeoverPatch moves the fields of all previous managers to ours, so that the
// next apply takes away what the intent does not name: a second container that
// the previous manager put there would else stay. Finalizers stay their
// managers' as well, and so stay: somebody waits for them. The patch is bound to
// the resourceVersion.
func (m managers) takeoverPatch(o metav1.Object, manager string) (client.Patch, error) {
	union := map[string]any{}
	for _, e := range m.entries {
		if e.APIVersion != m.apiVersion {
			// Its paths are of another version and mean nothing in ours.
			continue
		}
		mergeFields(union, fieldsOf(e))
	}
	raw, err := json.Marshal(union)
	if err != nil {
		return nil, fmt.Errorf("managed fields: %w", err)
	}
	now := metav1.Now()
	entries := []metav1.ManagedFieldsEntry{{
		Manager:    manager,
		Operation:  metav1.ManagedFieldsOperationApply,
		APIVersion: m.apiVersion,
		Time:       &now,
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(string(raw)),
	}}
	for _, e := range o.GetManagedFields() {
		if e.Subresource != "" {
			entries = append(entries, e)
			continue
		}
		if kept, ok := finalizersOnly(e); ok && e.Manager != manager {
			entries = append(entries, kept)
		}
	}
	data, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		// Replacing it makes the server answer a conflict if the object moved on.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": o.GetResourceVersion()},
	})
	if err != nil {
		return nil, fmt.Errorf("managed fields: %w", err)
	}
	return client.RawPatch(types.JSONPatchType, data), nil
}

// finalizersOnly cuts an entry down to its finalizers.
func finalizersOnly(e metav1.ManagedFieldsEntry) (metav1.ManagedFieldsEntry, bool) {
	finalizers := nested(fieldsOf(e), "f:metadata", "f:finalizers")
	if finalizers == nil {
		return e, false
	}
	raw, err := json.Marshal(map[string]any{"f:metadata": map[string]any{"f:finalizers": finalizers}})
	if err != nil {
		return e, false
	}
	e.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return e, true
}

// fieldsOf decodes the field set of an entry; what cannot be read is empty.
func fieldsOf(e metav1.ManagedFieldsEntry) map[string]any {
	out := map[string]any{}
	if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &out) != nil {
		return map[string]any{}
	}
	return out
}

// mergeFields adds the paths of one field set to another: a set is a trie of
// nested maps, so its union is the merged map.
func mergeFields(into, from map[string]any) {
	for k, v := range from {
		child, isMap := v.(map[string]any)
		have, present := into[k].(map[string]any)
		if isMap && present {
			mergeFields(have, child)
			continue
		}
		into[k] = v
	}
}

func nested(m map[string]any, path ...string) any {
	var at any = m
	for _, p := range path {
		next, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at, ok = next[p]
		if !ok {
			return nil
		}
	}
	return at
}
