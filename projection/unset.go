// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"reflect"
	"strings"
)

// dropUnset deletes from an object's map the fields that its Go type could not
// leave out: struct fields without a pointer whose value is zero. The caller has
// no way to set them so, and applied they would claim a field, or a null, that
// nobody meant. An empty struct behind a pointer (an emptyDir, an empty
// selector) and an empty list element (a rule that admits all) were meant and
// stay.
func dropUnset(v reflect.Value, u any) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		if m, ok := u.(map[string]any); ok {
			dropUnsetFields(v, m)
		}
	case reflect.Slice, reflect.Array:
		list, ok := u.([]any)
		if !ok || len(list) != v.Len() {
			return
		}
		for i := range list {
			dropUnset(v.Index(i), list[i])
		}
	case reflect.Map:
		m, ok := u.(map[string]any)
		if !ok || v.Type().Key().Kind() != reflect.String {
			return
		}
		for _, k := range v.MapKeys() {
			dropUnset(v.MapIndex(k), m[k.String()])
		}
	default:
	}
}

func dropUnsetFields(v reflect.Value, m map[string]any) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			// An embedded struct's fields stand among the others.
			if field.Anonymous {
				dropUnset(v.Field(i), m)
			}
			continue
		}
		child, present := m[name]
		if !present {
			continue
		}
		dropUnset(v.Field(i), child)
		if v.Field(i).Kind() != reflect.Struct {
			continue
		}
		left, isMap := child.(map[string]any)
		if v.Field(i).IsZero() || isMap && len(left) == 0 {
			delete(m, name)
		}
	}
}

// dropNulls deletes what is null: a null in an apply configuration is a claim.
func dropNulls(u any) {
	switch t := u.(type) {
	case map[string]any:
		for k, v := range t {
			if v == nil {
				delete(t, k)
				continue
			}
			dropNulls(v)
		}
	case []any:
		for _, v := range t {
			dropNulls(v)
		}
	}
}
