// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// defaulter fills in what a request leaves out, and changes nothing else. It refuses nothing: it is asked before the schema
// is, and what the schema has to say of an object that is no Cinder at all is more precise.
type defaulter[T client.Object] struct {
	empty func() T
	fill  func(T)
	spec  func(T) any
}

// Handle implements crwebhook.Handler.
func (d defaulter[T]) Handle(_ context.Context, req crwebhook.Request) crwebhook.Response {
	obj := d.empty()
	if json.Unmarshal(req.Object.Raw, obj) != nil {
		return crwebhook.Allowed("")
	}
	// An update that leaves the spec as it was is not touched: whoever changes a label or takes a finalizer away asks for
	// no new generation.
	if len(req.OldObject.Raw) > 0 {
		old := d.empty()
		if err := json.Unmarshal(req.OldObject.Raw, old); err != nil {
			return crwebhook.Errored(http.StatusInternalServerError, fmt.Errorf("decode the stored object: %w", err))
		}
		if apiequality.Semantic.DeepEqual(d.spec(obj), d.spec(old)) {
			return crwebhook.Allowed("")
		}
	}
	filled := obj.DeepCopyObject().(T)
	d.fill(filled)
	answer, err := transfer(req.Object.Raw, obj, filled)
	if err != nil {
		return crwebhook.Errored(http.StatusInternalServerError, fmt.Errorf("fill in the defaults: %w", err))
	}
	return crwebhook.PatchResponseFromRaw(req.Object.Raw, answer)
}

// transfer makes the changes between two objects in the document that the first one was read from. The objects are not
// answered themselves: in them a field that is required and missing is there, and empty, which is another violation.
func transfer(document []byte, before, after any) ([]byte, error) {
	var raw, from, to map[string]any
	fromText, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	toText, err := json.Marshal(after)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(json.Unmarshal(document, &raw), json.Unmarshal(fromText, &from), json.Unmarshal(toText, &to)); err != nil {
		return nil, err
	}
	transferFields(raw, from, to)
	return json.Marshal(raw)
}

func transferFields(raw, from, to map[string]any) {
	for name, value := range to {
		old, had := from[name]
		if reflect.DeepEqual(old, value) {
			continue
		}
		given, ok := raw[name]
		switch fields, nested := value.(map[string]any); {
		case !had:
			raw[name] = value
		case nested && !ok:
			// A block that only exists because its type has no way to be absent.
		case nested:
			part, isPart := given.(map[string]any)
			oldFields, wasPart := old.(map[string]any)
			if isPart && wasPart {
				transferFields(part, oldFields, fields)
			}
		default:
			raw[name] = value
		}
	}
}
