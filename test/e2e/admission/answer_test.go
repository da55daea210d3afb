// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"c5c3.io/cinder-operator/test/e2e/harness"
)

// answer is what the API server says to a request. Its text is empty if it has nothing against it.
type answer struct {
	text string
	// violations are each "FIELD: MESSAGE", sorted: the API server has no order. It is empty for a request that did not
	// get as far as the rules.
	violations []string
}

// remark is the API server's own: that rules were left out because the schema already failed.
const remark = "some validation rules were not checked"

// collect asks the API server about every rejection of a corpus, without anything being written but what must exist before.
func collect(t *testing.T, c corpus, namespace string) []answer {
	t.Helper()
	var out []answer
	var standing *manifest
	for _, r := range c.rejections {
		if same := standing != nil && r.before != nil && standing.file == r.before.file; !same {
			remove(t, standing, namespace)
			standing = nil
			if r.before != nil {
				obj := r.before.object.DeepCopy()
				obj.SetNamespace(namespace)
				lab.Hub.Create(t, obj)
				standing = r.before
			}
		}
		out = append(out, ask(t, r, namespace))
	}
	remove(t, standing, namespace)
	return out
}

func remove(t *testing.T, m *manifest, namespace string) {
	t.Helper()
	if m != nil {
		obj := m.object.DeepCopy()
		obj.SetNamespace(namespace)
		lab.Remove(t, obj)
	}
}

// ask sends a request, as a dry run: what is let in by mistake leaves nothing behind.
func ask(t *testing.T, r rejection, namespace string) answer {
	t.Helper()
	obj := r.sent.object.DeepCopy()
	obj.SetNamespace(namespace)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var err error
	if r.verb == "create" {
		err = lab.Hub.Client.Create(ctx, obj, client.DryRunAll)
	} else {
		err = updated(ctx, obj)
	}
	if err == nil {
		return answer{}
	}
	a := answer{text: err.Error(), violations: harness.Causes(err)}
	slices.Sort(a.violations)
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		t.Errorf("%s %s: the answer is no rejection: %v", r.verb, r.name, err)
	}
	return a
}

func updated(ctx context.Context, obj client.Object) error {
	stored := obj.DeepCopyObject().(client.Object)
	if err := lab.Hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), stored); err != nil {
		return fmt.Errorf("get what is to be updated: %w", err)
	}
	obj.SetResourceVersion(stored.GetResourceVersion())
	return lab.Hub.Client.Update(ctx, obj, client.DryRunAll)
}

// compare wants the expected violations, and no others.
func (r rejection) compare(t *testing.T, a answer) {
	t.Helper()
	if len(a.violations) == 0 {
		for _, expected := range r.expect {
			if _, part, _ := strings.Cut(expected, ": "); !strings.Contains(a.text, part) {
				t.Errorf("%s of %s: the answer does not say %q: %s", r.verb, r.sent.file, part, a.text)
			}
		}
		return
	}
	for _, expected := range r.expect {
		if !slices.ContainsFunc(a.violations, func(v string) bool { return matches(v, expected) }) {
			t.Errorf("%s of %s: no violation is %q: %q", r.verb, r.sent.file, expected, a.violations)
		}
	}
	for _, violation := range a.violations {
		if !strings.Contains(violation, remark) && !slices.ContainsFunc(r.expect, func(e string) bool { return matches(violation, e) }) {
			t.Errorf("%s of %s: a violation that it does not expect: %s", r.verb, r.sent.file, violation)
		}
	}
}

// lineBreaks are written as escapes in a comment.
var lineBreaks = strings.NewReplacer(`\n`, "\n", `\r`, "\r")

// matches says whether a violation, "FIELD: MESSAGE", is the expected one, "FIELD: PART". A field may hold line breaks; a
// pattern in a message holds escapes.
func matches(violation, expected string) bool {
	field, part, _ := strings.Cut(expected, ": ")
	rest, ok := strings.CutPrefix(violation, lineBreaks.Replace(field)+": ")
	return ok && strings.Contains(rest, part)
}
